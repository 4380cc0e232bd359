/*
 * Actions of people on single jobs.
 *
 * Each is safe to repeat: a job that already is as asked is answered as done.
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/job/job.h"
#include "engine/op.h"

struct engine;

/* How many jobs come back with one that is run again, as far as they were counted. */
struct revived {
    size_t jobs;
    bool more;
};

struct job_action_result {
    struct err refused; /* E_OK: done */
    int64_t id;         /* the job it was about; the new one for CLONE */
    enum job_state state;
    bool cancelling;
    bool removed;
    bool changed; /* false: it was as asked already */
    struct revived revived;
};

MUST_CHECK enum err_code job_action_run(struct engine *e, struct op *op, struct err *err);

/* Carries out one action on a loaded job; a refusal is a result. */
MUST_CHECK enum err_code job_action_apply(struct engine *e, const struct job_action *action,
                                          const struct job *j, struct job_action_result *ret,
                                          struct err *err);

/* Whether a loaded job can be run again, as the action says. */
MUST_CHECK enum err_code job_action_judge_retry(struct engine *e, const struct job_action *action,
                                                const struct job *j, struct err *refused,
                                                struct err *err);
