/*
 * Jobs that are held until a command of their queue has judged them.
 *
 * Writes run inside the caller's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct store;

struct filter_wait {
    int64_t job; /* 0: none */
    int64_t queue;
    int64_t due_at;   /* not asked before */
    int64_t tries;    /* that failed */
    struct slice why; /* the last one did; or empty */
};

MUST_CHECK enum err_code store_filter_wait_add(struct store *s, int64_t job, int64_t queue,
                                               struct err *err);
MUST_CHECK enum err_code store_filter_wait_find(struct store *s, int64_t job, struct arena *arena,
                                                struct filter_wait *ret_wait, struct err *err);
MUST_CHECK enum err_code store_filter_wait_fail(struct store *s, const struct filter_wait *wait,
                                                struct err *err);
MUST_CHECK enum err_code store_filter_wait_remove(struct store *s, int64_t job, struct err *err);

/* Jobs of the queue that are due, the one that is due for longest first. */
MUST_CHECK enum err_code store_filter_waits_due(struct store *s, int64_t queue, int64_t now_at,
                                                size_t max, int64_t *ret_jobs, size_t *ret_n,
                                                struct err *err);

/* When the first job of the queue is due after `now_at`; TIME_NEVER: none. */
MUST_CHECK enum err_code store_filter_waits_next(struct store *s, int64_t queue, int64_t now_at,
                                                 int64_t *ret_at, struct err *err);

typedef void store_filter_queue_fn(void *ctx, int64_t queue);

/* All queues that have such jobs. */
MUST_CHECK enum err_code store_filter_waits_queues(struct store *s, store_filter_queue_fn *on_queue,
                                                   void *ctx, struct err *err);
