/*
 * Queues and workers in the store.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "core/queue/def.h"

struct store;

struct stored_queue {
    int64_t id;
    struct slice name;
    enum queue_state state;
    struct slice definition; /* canonical JSON */
    int streak;              /* failures in a row; -1 in a change: as it is */
    int64_t changed_at;
    int64_t restarts; /* how often its jobs were called back */
};

/* Slices are valid during the call. */
typedef void store_queue_fn(void *ctx, const struct stored_queue *queue);

MUST_CHECK enum err_code store_queues_load(struct store *s, store_queue_fn *on_queue, void *ctx,
                                           struct err *err);

/* q->id is ignored; the new one comes back. */
MUST_CHECK enum err_code store_queue_add(struct store *s, const struct stored_queue *q,
                                         int64_t *ret_id, struct err *err);
MUST_CHECK enum err_code store_queue_set(struct store *s, const struct stored_queue *q,
                                         struct err *err);
/* Shared stores: the failures in a row, held until the transaction ends; and what they are now. */
MUST_CHECK enum err_code store_queue_streak_lock(struct store *s, int64_t id, int *ret_streak,
                                                 struct err *err);
MUST_CHECK enum err_code store_queue_streak_set(struct store *s, int64_t id, int streak,
                                                struct err *err);
MUST_CHECK enum err_code store_queue_remove(struct store *s, int64_t id, struct err *err);

/* The number of the definitions, 1 at first: it grows with each change of them. */
MUST_CHECK enum err_code store_definitions_get(struct store *s, int64_t *ret_number,
                                               struct err *err);
MUST_CHECK enum err_code store_definitions_set(struct store *s, int64_t number, struct err *err);

/* The job that is claimed next, 0 when none is ready. */
MUST_CHECK enum err_code store_queue_next_ready(struct store *s, int64_t queue, int64_t *ret_id,
                                                struct err *err);

struct stored_worker {
    int64_t id;
    struct slice name, host, version;
    int64_t pid;
    struct slice queues; /* JSON object: name to slots */
    int64_t seen_at;
    bool described;        /* by itself; else `queues` is what its last claim asked for */
    int64_t slots;         /* in all; 0: not told */
    struct slice broken;   /* JSON object: queue to reason; empty: none */
    struct slice instance; /* which of its processes has the name; empty: it has not told */
    struct slice boot;     /* of the instance's machine */
    int64_t since_at;      /* when the instance came; WORKER_HAS_LEFT */
    int64_t lease_us;      /* so long may it be away */
};

#define WORKER_HAS_LEFT 0 /* it said so, and nobody has come under its name since */

static inline bool worker_has_left(const struct stored_worker *w)
{
    return w->since_at == WORKER_HAS_LEFT;
}

typedef void store_worker_fn(void *ctx, const struct stored_worker *worker);

/* Adds or renews by name; the worker's number comes back, 0 when another instance than `known` has the name. */
MUST_CHECK enum err_code store_worker_put(struct store *s, const struct stored_worker *w,
                                          struct slice known, int64_t *ret_id, struct err *err);
/* Unless it was seen since. */
MUST_CHECK enum err_code store_worker_remove(struct store *s, const struct stored_worker *w,
                                             struct err *err);
/* It was seen then, unless that is known of a later time. */
MUST_CHECK enum err_code store_worker_say(struct store *s, int64_t id, int64_t seen_at,
                                          struct err *err);
/* The row of that number, if there is one. */
MUST_CHECK enum err_code store_worker_find(struct store *s, int64_t id, store_worker_fn *on_worker,
                                           void *ctx, struct err *err);
MUST_CHECK enum err_code store_workers_load(struct store *s, store_worker_fn *on_worker, void *ctx,
                                            struct err *err);
