/*
 * Lines of ready jobs: their order, and those of lanes.
 *
 * See gating.h.  Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/gates/gating.h"

/* Whether `a` starts before `b`: higher priority, then served longer ago, then the older job. */
bool line_comes_before(const struct line *a, const struct line *b);

/* Into the heap of its access, unless it is there, parked or deferred. */
void line_insert(struct line *l);
void line_remove(struct line *l);

/* Its place in the heap may be another. */
void line_fix(struct line *l);

/* Its first job is that one, and its lane may have been served; returns the first line of the
 * heap. */
struct line *line_refresh(struct line *l, struct ready_ref head);

/* A line for that row. */
struct line *line_new(struct engine *e, struct queue *q, const struct stored_gate *row);

/* Whether the lane of the line has a limit; whether it may be closed at all. */
bool lane_counts(const struct line *l);
bool lane_is_judged(const struct line *l);

/* Reads which lanes have ready jobs, unless that is known. */
MUST_CHECK enum err_code lines_load(struct engine *e, struct queue *q, struct err *err);

/* Lines that wait for a slot of the lane may try again. */
void lane_look_again(struct engine *e, struct gate *lane);

/* It has no job for this claim: leaves the heap, till the next claim unless it is known empty. */
void line_rest(struct gating *g, struct line *l);

/* Reads its first jobs from the store. */
MUST_CHECK enum err_code line_fill(struct engine *e, struct queue *q, struct line *l, bool held,
                                   struct err *err);

/* Whether its lane is open; parks it if not. */
MUST_CHECK enum err_code line_judge(struct engine *e, struct gating *g, struct line *l,
                                    bool *ret_open, struct err *err);

/* Lines that rested come back. */
void lines_resume(struct gating *g);

/* Lines whose time has come come back; returns when the next is due. */
int64_t lines_unpark(struct engine *e, struct gating *g);
void lines_free(struct engine *e, struct gating *g);
