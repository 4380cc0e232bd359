/*
 * What filters have dropped: the last ones of each queue, and how many there were.
 *
 * Writes run inside the caller's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

struct store;

enum { DROPS_KEPT = 100 }; /* of each queue */

struct stored_drop {
    int64_t id; /* carries the time */
    int64_t queue;
    unsigned filter; /* enum filter_kind */
    int64_t job;     /* that it clashed with; 0: none */
    struct slice text;
};

/* What is counted for a queue: drops of each enum filter_kind, and these: */
enum { FILTER_COUNT_KEYS = 0 }; /* keys that are kept for ever */

struct filter_count {
    int64_t queue;
    unsigned what;
    int64_t n;
};

/* Adds the drops, all of one queue and in the order of their ids, and removes old ones. */
MUST_CHECK enum err_code store_drops_add(struct store *s, const struct stored_drop *drops, size_t n,
                                         struct err *err);

typedef void store_drop_fn(void *ctx, const struct stored_drop *drop);

/* The newest first. */
MUST_CHECK enum err_code store_drops_load(struct store *s, int64_t queue, store_drop_fn *on_drop,
                                          void *ctx, struct err *err);

MUST_CHECK enum err_code store_filter_count_add(struct store *s, uint32_t node,
                                                const struct filter_count *count, struct err *err);

typedef void store_filter_count_fn(void *ctx, const struct filter_count *count);

/* Those of one queue; 0: of all, in the order of queues. */
MUST_CHECK enum err_code store_filter_counts_load(struct store *s, int64_t queue,
                                                  store_filter_count_fn *on_count, void *ctx,
                                                  struct err *err);

/* The queue is gone. */
MUST_CHECK enum err_code store_drops_remove(struct store *s, int64_t queue, struct err *err);
