/*
 * Actions of people on single jobs: cancel, retry, hold, release, clone, now, move, patch, delete.
 *
 * Each but clone is safe to repeat: if the job is in the requested state already, the action is
 * answered as done.
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

/* How many cancelled jobs come back with a retried job. */
struct revived {
    size_t jobs;
    bool more; /* there are more than were counted */
};

struct job_action_result {
    struct err refused; /* E_OK: done */
    int64_t id;         /* of the job; CLONE: of the new one */
    enum job_state state;
    bool cancelling;
    bool removed;
    bool changed; /* false: the job was in the requested state already */
    struct revived revived;
};

MUST_CHECK enum err_code job_action_run(struct engine *e, struct op *op, struct err *err);

/* Applies one action to a loaded job; a refusal is in ret->refused. */
MUST_CHECK enum err_code job_action_apply(struct engine *e, const struct job_action *action,
                                          const struct job *j, struct job_action_result *ret,
                                          struct err *err);

/* Judges whether the action can run a loaded job again. */
MUST_CHECK enum err_code job_action_judge_retry(struct engine *e, const struct job_action *action,
                                                const struct job *j, struct err *refused,
                                                struct err *err);
