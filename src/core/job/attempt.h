/*
 * How an attempt ends: what becomes of a running job when its worker answers, or is lost.
 *
 * Pure: the job's struct is changed, nothing else.  The caller writes it and does what the event
 * means.
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

/* Moves a running job on and returns the event that moved it.  A failed, lost, late or returned
 * attempt of a job whose cancel was asked for cancels it. */
enum job_event attempt_apply(struct job *j, const struct attempt_end *end,
                             const struct retry_policy *policy, struct rng *rng);
