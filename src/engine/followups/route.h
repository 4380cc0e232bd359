/*
 * Routes: what the end of a step means for the job that carries it, and what a step sees.
 *
 * The rules are those of core/route/routing.h; here they meet the store.
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "core/route/routing.h"
#include "engine/jobs/finish.h"
#include "engine/op.h"

struct engine;
struct queue;

/* The params as a step sees them: its own over what was set before it over the job's. */
struct slice route_params(struct slice params, struct slice assigned, struct slice step_params,
                          struct arena *arena);

/* The same of a job that is loaded whole, with these params. */
struct slice route_sees(struct engine *e, const struct job *j, struct slice params);

/* Whether a new job's steps can all be run, as far as that is known now: their queues are there,
 * and take the commands that they bring; and all that its end, or theirs, leads to is there. */
MUST_CHECK enum err_code route_judge(struct engine *e, const struct submit_item *item,
                                     struct err *refused, struct err *err);

/* Whether the running job's route takes more steps. */
MUST_CHECK enum err_code route_judge_steps(struct engine *e, const struct job *j,
                                           struct slice steps, struct err *refused,
                                           struct err *err);

/* The step that the running job is at has ended, by JOB_EV_DONE or JOB_EV_FAIL.  `now` is what
 * became of the job by the attempt alone; the job is written as what becomes of it by its route,
 * and *now is that. */
MUST_CHECK enum err_code route_step_end(struct engine *e, const struct job *was, struct job *now,
                                        enum job_event event, const struct attempt_gain *gain,
                                        struct err *err);

/* How an ended job with a route is run again. */
struct route_again {
    struct queue *queue;
    int step;             /* its number */
    struct slice options; /* in force at the step */
    struct slice routing; /* empty: as it is */
    struct slice assigned;
    struct slice params; /* as the step will see them */
};

/* From the step that is named, or else (unless it is to begin anew) from where it failed or was
 * cancelled, or else from its first.  `j` is loaded whole, `params` are the job's from now on. */
MUST_CHECK enum err_code route_again(struct engine *e, const struct job_action *action,
                                     const struct job *j, struct slice params,
                                     struct route_again *ret, struct err *refused, struct err *err);

/* A copy of the job begins with its first step: sets queue, step, options and routing of `copy`. */
MUST_CHECK enum err_code route_copy(struct engine *e, const struct job *j, struct job *copy,
                                    struct err *refused);

/* Members of a claimed job that come from its routing: "step" and "parent"; empty when there are
 * none. */
struct slice route_claim_members(const struct routing *routing, const struct job *j,
                                 struct arena *arena);
