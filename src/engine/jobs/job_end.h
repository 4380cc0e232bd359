/*
 * Waiting jobs: which state they have, and how they end without having run.
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

/* Sets the state of a waiting job: held, scheduled or ready.  JOB_NONE: the store is damaged. */
void job_settle(struct engine *e, struct job *j);

/* Ends a waiting job that will never run: by CANCEL, or by FAIL if it is held.  `why` becomes its
 * text.  `was` is as the store has it. */
MUST_CHECK enum err_code job_end_unrun(struct engine *e, const struct job *was,
                                       enum job_event event, enum job_cause cause, struct slice why,
                                       struct err *err);
