/*
 * Changes of queues: definitions, states, restarts, removal; and the streaks that stop a queue.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "core/queue/def.h"
#include "engine/op.h"

struct engine;
struct queue;

/* Creates a queue and emits its event. */
MUST_CHECK enum err_code queue_make(struct engine *e, struct slice name, struct slice definition,
                                    struct err *err);
MUST_CHECK enum err_code queue_redefine(struct engine *e, struct queue *q, struct slice definition,
                                        struct err *err);
MUST_CHECK enum err_code queue_set_state(struct engine *e, struct queue *q, enum queue_state state,
                                         const char *why, struct err *err);

/* Counts its jobs, ended ones included; only an empty queue is removed. */
MUST_CHECK enum err_code queue_count_jobs(struct engine *e, const struct queue *q, int64_t *ret_n,
                                          struct err *err);
MUST_CHECK enum err_code queue_remove(struct engine *e, struct queue *q, struct err *err);

/* Counts for stop_after: the job `failed` has failed for the first time, or (0) an attempt of one
 * of its jobs succeeded. */
MUST_CHECK enum err_code queue_count_streak(struct engine *e, struct queue *q, int64_t failed,
                                            struct err *err);

/* Shared stores: writes the streaks of the batch, in the order of the queues.  Before the claims:
 * a streak may stop a queue. */
MUST_CHECK enum err_code queue_write_streaks(struct engine *e, struct err *err);

MUST_CHECK enum err_code queue_op_run(struct engine *e, struct op *op, struct err *err);
