/*
 * Named numbers, and the kept counts of jobs.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "core/job/state.h"

struct store;

#define META_IDS \
    "ids" /* no higher id was ever given out; a shared store also has a mark per server */

/* *ret_value is unchanged when there is no such key. */
MUST_CHECK enum err_code store_meta_get(struct store *s, const char *key, int64_t *ret_value,
                                        struct err *err);
MUST_CHECK enum err_code store_meta_set(struct store *s, const char *key, int64_t value,
                                        struct err *err);

/* The highest id up to `split` and the lowest id above it; each is unchanged when there is none. */
MUST_CHECK enum err_code store_ids_around(struct store *s, int64_t split, int64_t *ret_below,
                                          int64_t *ret_above, struct err *err);

struct store_count {
    int64_t queue;
    enum job_state state;
    int64_t n;
};

/* Adds each n, which may be negative.  Sorted by queue and state, so that batches cannot deadlock.
 */
MUST_CHECK enum err_code store_counts_add(struct store *s, uint32_t node,
                                          const struct store_count *counts, size_t n,
                                          struct err *err);

typedef void store_count_fn(void *ctx, const struct store_count *count);

MUST_CHECK enum err_code store_counts_load(struct store *s, store_count_fn *on_count, void *ctx,
                                           struct err *err);

/* All jobs of a queue, ended ones included. */
MUST_CHECK enum err_code store_counts_queue(struct store *s, int64_t queue, int64_t *ret_n,
                                            struct err *err);

/* Ready jobs of a queue, in its lanes as well. */
MUST_CHECK enum err_code store_counts_ready(struct store *s, int64_t queue, int64_t *ret_n,
                                            struct err *err);

/* Jobs that are held, scheduled or ready; queue 0: in all queues. */
MUST_CHECK enum err_code store_counts_waiting(struct store *s, int64_t queue, int64_t *ret_n,
                                              struct err *err);

/* Removes the counts of a queue, which must be 0. */
MUST_CHECK enum err_code store_counts_remove(struct store *s, int64_t queue, struct err *err);
