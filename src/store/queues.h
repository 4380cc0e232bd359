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
    int streak;              /* consecutive failures; -1 in a change: unchanged */
    int64_t changed_at;
    int64_t restarts; /* how often its workers were told to restart */
};

/* Slices are valid during the call. */
typedef void store_queue_fn(void *ctx, const struct stored_queue *queue);

MUST_CHECK enum err_code store_queues_load(struct store *s, store_queue_fn *on_queue, void *ctx,
                                           struct err *err);

/* Ignores q->id and returns the new one. */
MUST_CHECK enum err_code store_queue_add(struct store *s, const struct stored_queue *q,
                                         int64_t *ret_id, struct err *err);
MUST_CHECK enum err_code store_queue_set(struct store *s, const struct stored_queue *q,
                                         struct err *err);
/* Shared stores: locks the number of consecutive failures for the transaction; and writes it. */
MUST_CHECK enum err_code store_queue_streak_lock(struct store *s, int64_t id, int *ret_streak,
                                                 struct err *err);
MUST_CHECK enum err_code store_queue_streak_set(struct store *s, int64_t id, int streak,
                                                struct err *err);
MUST_CHECK enum err_code store_queue_remove(struct store *s, int64_t id, struct err *err);

/* The version of the definitions: 1 at first, incremented by each change. */
MUST_CHECK enum err_code store_definitions_get(struct store *s, int64_t *ret_number,
                                               struct err *err);
MUST_CHECK enum err_code store_definitions_set(struct store *s, int64_t number, struct err *err);

/* The job that is claimed next; 0: none is ready. */
MUST_CHECK enum err_code store_queue_next_ready(struct store *s, int64_t queue, int64_t *ret_id,
                                                struct err *err);

struct stored_worker {
    int64_t id;
    struct slice name, host, version;
    int64_t pid;
    struct slice queues; /* JSON object: name to slots */
    int64_t seen_at;
    bool described; /* it has described itself; else `queues` is what its last claim asked for */
    int64_t slots;  /* total; 0: unknown */
    struct slice broken;   /* JSON object: queue to reason; empty: none */
    struct slice instance; /* the process that has the name; empty: unknown */
    struct slice boot;     /* boot id of its machine */
    int64_t since_at;      /* when the instance came, or WORKER_HAS_LEFT */
    int64_t lease_us;      /* how long it may be silent */
};

#define WORKER_HAS_LEFT 0 /* it said goodbye, and no instance has taken the name since */

static inline bool worker_has_left(const struct stored_worker *w)
{
    return w->since_at == WORKER_HAS_LEFT;
}

typedef void store_worker_fn(void *ctx, const struct stored_worker *worker);

/* Adds or renews by name and returns the number; 0: an instance other than `known` has the name. */
MUST_CHECK enum err_code store_worker_put(struct store *s, const struct stored_worker *w,
                                          struct slice known, int64_t *ret_id, struct err *err);
/* Unless it was seen after w->seen_at. */
MUST_CHECK enum err_code store_worker_remove(struct store *s, const struct stored_worker *w,
                                             struct err *err);
/* Writes when it was seen, unless a later time is stored. */
MUST_CHECK enum err_code store_worker_say(struct store *s, int64_t id, int64_t seen_at,
                                          struct err *err);
/* Calls back if there is such a worker. */
MUST_CHECK enum err_code store_worker_find(struct store *s, int64_t id, store_worker_fn *on_worker,
                                           void *ctx, struct err *err);
MUST_CHECK enum err_code store_worker_named(struct store *s, struct slice name,
                                            store_worker_fn *on_worker, void *ctx, struct err *err);
MUST_CHECK enum err_code store_workers_load(struct store *s, store_worker_fn *on_worker, void *ctx,
                                            struct err *err);
