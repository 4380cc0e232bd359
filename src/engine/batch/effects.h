/*
 * Effects: what a change of a job means for counts, ready lists, retention and listeners.
 *
 * The note_ functions run within the transaction and change only what a failed batch takes back;
 * apply_effects runs after the commit.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/job/job.h"
#include "core/job/state.h"

struct engine;
struct queue;

/* A job was made, or moved: counts, ready lists, retention, followups and events follow.  From
 * JOB_NONE (and NULL) when it is new. */
void note_move(struct engine *e, const struct job *j, enum job_state from, struct queue *from_queue,
               const char *what);

/* The job has ended, or is gone: ops that wait for it are answered after the commit. */
void note_over(struct engine *e, const struct job *j);

/* The job is gone, not only ended. */
void note_removed(struct engine *e, const struct job *j);

/* Something happened to a job: listeners get an event after the commit. */
void note_event(struct engine *e, const struct job *j, const struct queue *q, const char *what);

/* After the commit: claims, cancels, totals, events. */
void apply_effects(struct engine *e);
