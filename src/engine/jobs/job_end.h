/*
 * Waiting jobs: where they belong, and how they end without having run.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "core/job/job.h"
#include "core/job/state.h"

struct engine;

/* Sets the state of a waiting job: held, scheduled or ready.  Of a damaged store: JOB_NONE. */
void job_settle(struct engine *e, struct job *j);

/* Ends a waiting job that will never run, with the reason: by CANCEL, or FAIL of a held one.  `was`
 * is as the store has it. */
MUST_CHECK enum err_code job_end_unrun(struct engine *e, const struct job *was,
                                       enum job_event event, enum job_cause cause, struct slice why,
                                       struct err *err);
