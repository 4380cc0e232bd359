/*
 * Retention: ended jobs are removed when their queue keeps them no longer.
 *
 * Each commit writes the jobs it has ended as rows of `endings`, one for each queue and state;
 * retention takes the oldest of these.
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "core/job/job.h"

struct engine;
struct queue;

/* A job has ended: sets the time at which retention looks at its queue. */
void retention_note(struct engine *e, const struct queue *q, const struct job *j);

/* Writes the endings that the batch has gathered. */
MUST_CHECK enum err_code endings_write(struct engine *e, struct err *err);

/* Removes what is too old, up to a bound, and sets the time of the next look. */
MUST_CHECK enum err_code retention_run(struct engine *e, struct err *err);
