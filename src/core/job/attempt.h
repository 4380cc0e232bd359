/*
 * How an attempt ends: the next state of a running job when its worker answers, or is lost.
 *
 * Pure: changes only the job's struct.  The caller writes it and acts on the event.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/job/job.h"
#include "core/job/retry.h"

struct rng;

struct attempt_end {
    enum job_outcome outcome; /* DONE FAILED LATER RETURNED CANCELLED LOST */
    enum job_cause cause;
    bool exited;
    int exit;
    bool final;   /* no retry can help */
    bool delayed; /* delay_us was given: it replaces the policy's pause */
    int64_t delay_us;
    struct slice text; /* data NULL: the status text stays */
    int64_t now_at;
};

/* Moves a running job on and returns the event that moved it.  If its cancel was asked for, a
 * failed, lost, late or returned attempt cancels the job. */
enum job_event attempt_apply(struct job *j, const struct attempt_end *end,
                             const struct retry_policy *policy, struct rng *rng);
