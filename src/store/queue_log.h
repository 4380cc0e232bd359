/*
 * The logs of queues: the newest QUEUE_LOG_ROWS lines of each.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

struct store;

enum { QUEUE_LOG_ROWS = 1000 };

struct queue_log_line {
    int64_t seq; /* 0: append.  Servers that share a store assign it */
    int64_t at;
    struct slice what; /* one word */
    struct slice text; /* may be empty */
};

/* Removes the oldest line when there are too many. */
MUST_CHECK enum err_code store_queue_log_add(struct store *s, int64_t queue,
                                             const struct queue_log_line *line, struct err *err);

/* Slices are valid during the call. */
typedef void store_queue_log_fn(void *ctx, const struct queue_log_line *line);

/* At most `limit` lines, the newest first. */
MUST_CHECK enum err_code store_queue_log_read(struct store *s, int64_t queue, int limit,
                                              store_queue_log_fn *on_line, void *ctx,
                                              struct err *err);

/* The newest line of that kind, if any. */
MUST_CHECK enum err_code store_queue_log_newest(struct store *s, int64_t queue, struct slice what,
                                                store_queue_log_fn *on_line, void *ctx,
                                                struct err *err);
MUST_CHECK enum err_code store_queue_log_remove(struct store *s, int64_t queue, struct err *err);
