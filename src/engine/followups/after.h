/*
 * After: what a new job waits for is judged, and written as far as it is not met yet.
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
#include "core/job/job.h"
#include "core/route/routing.h"
#include "engine/jobs/submit.h"
#include "store/links/links.h"

struct engine;

/* A condition that is not met yet. */
struct planned_wait {
    struct stored_wait row;
    struct slice signal; /* its name: the row's target is found or made together with the job */
};

/* What the conditions of a job come to when it is made. */
struct after_plan {
    struct planned_wait *waits; /* those on jobs first; any: the job is held */
    size_t n_waits;
    bool never;   /* one is impossible, as `why` says: the job is cancelled */
    int64_t lost; /* the job that has decided that */
    const char *why;
    struct slice json; /* for the routing */
};

/* Judges the conditions of an array's items before any is made: `plans` have their ids already, and
 * those that others of the array wait for become `awaited`.  A refusal (unknown id or ref, a
 * circle, no such step) goes into the plan.  *ret has n entries, zeros where an item has none. */
MUST_CHECK enum err_code after_judge(struct engine *e, const struct submit_item *items, size_t n,
                                     struct plan *plans, struct after_plan **ret, struct err *err);

/* The job is made: adds its waits to those that the batch writes. */
MUST_CHECK enum err_code after_make(struct engine *e, const struct after_plan *plan,
                                    struct err *err);

/* Whether a condition is impossible, which job has decided that, and why. */
struct after_never {
    bool is;
    int64_t by;
    char why[300];
};

/* An emitted job is released, or one that was cancelled is run again: judges the conditions in its
 * routing.  *ret_held: it has to wait; ret_never->is: it is to be cancelled, or stays so. */
MUST_CHECK enum err_code after_release(struct engine *e, const struct job *j, bool *ret_held,
                                       struct after_never *ret_never, struct err *err);

/* ---- how the steps of a job have ended, by its record (after_steps.c) ---- */

/* Besides the states that a step may have ended in. */
enum { STEP_OPEN = -1, STEP_UNRUN = -2 };

struct step_ends {
    bool found; /* the job exists */
    struct job job;
    struct routing routing;
    struct map last; /* number of a step, to how its last attempt ended */
};

MUST_CHECK enum err_code step_ends_load(struct engine *e, int64_t job, struct step_ends *ret,
                                        struct err *err);
void step_ends_deinit(struct step_ends *s);
static inline void step_ends_cleanup(struct step_ends *s)
{
    step_ends_deinit(s);
}

/* An enum job_state that has ended, JOB_NONE when the job is gone, STEP_OPEN, or STEP_UNRUN: the
 * job will not run it. */
int step_ends_state(const struct step_ends *s, int step);

/* What that means for a condition on the step. */
enum after_verdict step_verdict(enum after_on on, int state);

/* Why a condition is impossible; step 0: on the job itself.  In the batch's arena. */
const char *after_why(struct engine *e, int64_t job, int step, int state);
