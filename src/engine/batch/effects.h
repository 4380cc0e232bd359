/*
 * Effects: what a change of a job means for counts, ready lists, retention and listeners.
 *
 * All but effects_apply run within the transaction and change only what a failed batch takes back;
 * effects_apply runs after the commit.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/job/job.h"
#include "core/job/state.h"

struct engine;
struct queue;

/* A job was created, or has moved: updates counts, ready lists, retention, followups and events.
 * For a new job `from` is JOB_NONE and `from_queue` NULL. */
void effects_move(struct engine *e, const struct job *j, enum job_state from,
                  struct queue *from_queue, const char *what);

/* A job of the queue is no longer ready. */
void effects_unready(struct engine *e, struct queue *q, const struct job *j);

/* The job has ended, or is gone: ops that wait for it are answered after the commit. */
void effects_ended(struct engine *e, const struct job *j);

/* The job is gone, not only ended. */
void effects_removed(struct engine *e, const struct job *j);

/* Something happened to a job: listeners get an event after the commit. */
void effects_event(struct engine *e, const struct job *j, const struct queue *q, const char *what);

/* After the commit: claims, cancels, totals, events. */
void effects_apply(struct engine *e);
