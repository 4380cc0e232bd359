/*
 * Which line a job belongs to: its lane, and needs that differ from job to job.
 *
 * Jobs of a queue with `lane`, and jobs whose needs are not those of all jobs of their queue, have
 * a row in gates: job.lane is its id.  The id is a hash of queue, key and needs, so that no server
 * has to look a row up before it adds jobs.  What a job needs is decided when it enters its queue.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"

struct engine;
struct job;
struct queue;

/* Whether jobs with these options may have a lane there. */
bool lane_is_asked(const struct queue *q, struct slice options);

/* Refuses params that do not fill the lane's key and the needs, resources that do not exist and
 * needs that can never be granted: E_INVALID.  Pure. */
enum err_code lane_check(const struct queue *q, struct slice params, struct slice options,
                         struct err *refused);

/* Sets j->lane of a new job, or of one that enters another queue, and adds the row of a new lane.
 * By its own params and options; or by those that its step has.  Within the transaction. */
MUST_CHECK enum err_code lane_assign(struct engine *e, struct job *j, struct err *err);
MUST_CHECK enum err_code lane_assign_by(struct engine *e, struct job *j, struct slice params,
                                        struct slice options, struct err *err);
