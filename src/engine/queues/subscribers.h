/*
 * Subscribers: queues that belong to one worker each, so that it gets everything published to a
 * topic, also while it is absent.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "engine/op.h"

struct engine;
struct queue;

/* Creates or renews a worker's queue for a topic. */
MUST_CHECK enum err_code subscribe_run(struct engine *e, struct op *op, struct err *err);

/* The definition of a topic's queue has changed: its subscribers get the same. */
MUST_CHECK enum err_code subscribers_follow(struct engine *e, const struct queue *q,
                                            struct err *err);

/* Removes the queues of workers that were absent for too long. */
MUST_CHECK enum err_code subscribers_expire(struct engine *e, struct err *err);

/* Queues were read or created: sets the time of the next look at subscribers. */
void subscribers_watch(struct engine *e);

/* Whether the worker has a queue of its own. */
bool subscribers_include(const struct engine *e, struct slice worker);
