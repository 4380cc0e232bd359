/*
 * After: judges the conditions of new jobs and stores those that are not met yet.
 *
 * Within the batch's transaction; what is returned lives in the batch's arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "core/group/group.h"
#include "core/job/job.h"
#include "core/route/routing.h"
#include "engine/jobs/submit.h"
#include "store/links/links.h"

struct engine;

/* A condition that is not met yet. */
struct planned_wait {
    struct stored_wait row;
    struct slice signal; /* its name: the row's target is found or created together with the job */
};

/* The conditions of a job at its creation. */
struct after_plan {
    struct planned_wait *waits; /* conditions on jobs first; the job is held if there are any */
    size_t n_waits;
    bool never;   /* one is impossible, as `why` says: the job is cancelled */
    int64_t lost; /* the job that made it impossible */
    const char *why;
    struct slice json; /* for the routing */
};

/* Judges the conditions of an array's items before any job is created: `plans` have their ids
 * already; plans that other items wait for become `awaited`.  A refusal (unknown id or ref, a
 * circle, no such step) goes into the plan.  *ret has n entries, zeros for items without
 * conditions. */
MUST_CHECK enum err_code after_judge(struct engine *e, const struct submit_item *items, size_t n,
                                     struct plan *plans, struct after_plan **ret, struct err *err);

/* Adds the waits of a new job to those that the batch writes. */
MUST_CHECK enum err_code after_make(struct engine *e, const struct after_plan *plan,
                                    struct err *err);

/* Whether a condition is impossible, which job made it so, and why. */
struct after_never {
    bool is;
    int64_t by;
    char why[300];
};

/* Judges the conditions in the routing of an emitted job at its release, or of a cancelled job that
 * is run again.  *ret_held: it has to wait; ret_never->is: it must be cancelled, or stay so. */
MUST_CHECK enum err_code after_release(struct engine *e, const struct job *j, bool *ret_held,
                                       struct after_never *ret_never, struct err *err);

/* ---- how the steps of a job ended, from its record (after_steps.c) ---- */

/* States of a step in addition to those that it may end in. */
enum { STEP_OPEN = -1, STEP_UNRUN = -2 };

struct step_ends {
    bool found; /* the job exists */
    struct job job;
    struct routing routing;
    struct map last; /* number of a step, to the outcome of its last attempt */
};

MUST_CHECK enum err_code step_ends_load(struct engine *e, int64_t job, struct step_ends *ret,
                                        struct err *err);
void step_ends_deinit(struct step_ends *s);
CLEANUP_BY_DEINIT(step_ends)

/* An ended enum job_state; JOB_NONE: the job does not exist; STEP_OPEN: it may still run; or
 * STEP_UNRUN: the job will not run it. */
int step_ends_state(const struct step_ends *s, int step);

/* The verdict on a condition on a step in that state. */
enum after_verdict step_verdict(enum after_on on, int state);

/* The state of a job that has ended as the group has; STEP_OPEN: it has not. */
int group_job_state(enum group_state state);

/* Why a condition on a group is impossible.  In the batch's arena. */
const char *after_why_group(struct engine *e, int64_t group, int state);

/* Text that says why a condition is impossible; step 0: a condition on the job itself.  In the
 * batch's arena. */
const char *after_why(struct engine *e, int64_t job, int step, int state);
