/*
 * The engine's thread: takes all waiting ops, runs them in one commit, returns them.
 *
 * It owns the engine from engine_thread_start on, and has its store to itself until the join.  It
 * never waits to gather more ops; it sleeps until the next op or the engine's next instant.
 * Finished ops return together, so that the HTTP thread is woken once a batch.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>

#include "base/err.h"
#include "engine/engine.h"
#include "server/threads/delivery.h"
#include "server/threads/inbox.h"
#include "server/threads/sync_thread.h"

/* An op sent to the engine.  `deliver` is called when it has been done. */
struct engine_request {
    struct delivery delivery;
    struct op op;
};

struct engine_thread {
    struct inbox inbox;       /* of engine requests */
    struct inbox_list done;   /* the engine's thread only */
    struct sync_thread *sync; /* the way to the HTTP thread */
    struct engine *engine;
    const struct engine_stats *stats;
    atomic_bool look_for_gone; /* a waiting client has left */
    pthread_t thread;
};

/* Takes over the engine; until engine_thread_join its store is used by nobody else, but for
 * store_sync.  `sync` outlives the thread. */
MUST_CHECK enum err_code engine_thread_start(struct engine_thread *t, struct engine *engine,
                                             struct sync_thread *sync, struct err *err);

/* Makes the op of a request come back to this thread. */
void engine_request_init(struct engine_request *request, struct engine_thread *t, enum op_kind kind,
                         void (*deliver)(struct delivery *d));

/* Any thread. */
static inline void engine_thread_put(struct engine_thread *t, struct inbox_list *requests)
{
    inbox_put_list(&t->inbox, requests);
}

/* A waiting client may have left: its op is answered without waiting. */
void engine_thread_look_for_gone(struct engine_thread *t);

/* From the engine's thread only (event callback): delivered with the batch. */
void engine_thread_send(struct engine_thread *t, struct delivery *d);

/* No request is put after this.  The thread answers all that wait, closes the engine, and ends. */
void engine_thread_stop(struct engine_thread *t);
void engine_thread_join(struct engine_thread *t);
