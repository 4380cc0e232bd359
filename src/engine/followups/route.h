/*
 * Routes: what the end of a step does to its job, and which params a step gets.
 *
 * The rules are in core/route/routing.h; this file applies them to the store.
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

/* The params of a step: the job's, overridden by what earlier steps have set, then by the step's
 * own. */
struct slice route_params(struct slice params, struct slice assigned, struct slice step_params,
                          struct arena *arena);

/* The same for the current step of a job loaded with LOAD_PAYLOAD, with these params of the job. */
struct slice route_sees(struct engine *e, const struct job *j, struct slice params);

/* Judges the route of a new job: the queues of its steps must exist and accept their commands, and
 * all destinations of the job and its steps must exist. */
MUST_CHECK enum err_code route_judge(struct engine *e, const struct submit_item *item,
                                     struct err *refused, struct err *err);

/* Judges steps that a running job adds to its route. */
MUST_CHECK enum err_code route_judge_steps(struct engine *e, const struct job *j,
                                           struct slice steps, struct err *refused,
                                           struct err *err);

/* Ends the current step of a running job, by JOB_EV_DONE or JOB_EV_FAIL.  *now is the job after the
 * attempt; the function applies the route to it (next step, or end of the job) and writes it. */
MUST_CHECK enum err_code route_step_end(struct engine *e, const struct job *was, struct job *now,
                                        enum job_event event, const struct attempt_gain *gain,
                                        struct err *err);

/* How an ended job with a route is run again. */
struct route_again {
    struct queue *queue;
    int step;             /* its number */
    struct slice options; /* in force at the step */
    struct slice routing; /* empty: unchanged */
    struct slice assigned;
    struct slice params; /* of the step */
};

/* Finds the step to begin with: the one that the action names, or else (unless `anew`) the one that
 * failed or was cancelled, or else the first.  `j` is loaded with its payload, `params` are the
 * job's new params. */
MUST_CHECK enum err_code route_again(struct engine *e, const struct job_action *action,
                                     const struct job *j, struct slice params,
                                     struct route_again *ret, struct err *refused, struct err *err);

/* Prepares a copy of the job to begin with the first step: sets its queue, step, options and
 * routing.  `changed`: params that override the steps' own, or empty. */
MUST_CHECK enum err_code route_copy(struct engine *e, const struct job *j, struct slice changed,
                                    struct job *copy, struct err *refused);

/* Members of a claimed job that come from its routing: "step" and "parent"; may be empty. */
struct slice route_claim_members(const struct routing *routing, const struct job *j,
                                 struct arena *arena);
