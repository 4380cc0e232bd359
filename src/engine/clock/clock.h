/*
 * The clock: schedules that are due, and jobs that must have started by now.
 *
 * Engine thread only; all but the first functions run within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"
#include "core/time/zone.h"

struct engine;
struct job;
struct op;
struct submit_item;

struct clock_zone {
    char *name;
    struct zone zone;
};

struct clock {
    int64_t fire_at;   /* wall: no schedule is due earlier */
    int64_t expire_at; /* wall: no job expires earlier */
    bool was_set;      /* the clock may have been set back: settled times may be ahead of it */
    VEC(struct clock_zone *) zones; /* that were read */
};

void clock_deinit(struct engine *e);

/* Looks at everything at the next occasion. */
void clock_reset(struct engine *e);

/* Something may be due at that instant. */
void clock_look_at(struct engine *e, int64_t at);

/* When something is due next, by the wall clock; TIME_NEVER: nothing. */
int64_t clock_next_at(const struct engine *e);

/* Jobs have expired that are not cancelled yet. */
bool clock_is_behind(const struct engine *e);

/* The zone of that name, which lives as long as the engine.  NULL: `err` says why it cannot be
 * read. */
const struct zone *clock_zone_find(struct engine *e, struct slice name, struct err *err);

/* ---- schedules ---- */

MUST_CHECK enum err_code schedules_fire(struct engine *e, struct err *err);
MUST_CHECK enum err_code schedule_op_run(struct engine *e, struct op *op, struct err *err);
