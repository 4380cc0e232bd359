/*
 * Reader threads: each owns a read-only store and runs one reading after the other.
 *
 * One of them is reserved for the Unix socket, whose readings never wait behind those over TCP.
 * It uses another thread only when that is idle.  How many readings may wait is bounded for each
 * way in.  The counts belong to the HTTP thread, which alone puts readings and gets them back.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/err.h"
#include "engine/reads/query.h"
#include "server/limits.h"
#include "server/threads/delivery.h"
#include "server/threads/inbox.h"
#include "server/threads/sync_thread.h"
#include "store/store.h"

enum way_in { WAY_TCP, WAY_UNIX, WAYS_IN };

/* A query sent to a reader.  `run` is called on a reader thread, `deliver` afterwards on the
 * HTTP thread. */
struct reading {
    struct delivery delivery;
    enum way_in way_in;
    bool is_reserved; /* it went to the reserved thread */
    bool is_counted;  /* it was put, and is not back */
    void (*run)(struct reading *r, struct store *store);
    struct query query;
};

struct reader {
    struct inbox *inbox;      /* shared, or its own */
    struct sync_thread *sync; /* the way to the HTTP thread */
    struct store *store;
    pthread_t thread;
};

struct readers {
    struct inbox shared;   /* by all threads but the last */
    struct inbox reserved; /* of the last, for the Unix socket */
    struct reader threads[READER_THREADS];
    size_t count;
    unsigned in_shared; /* readings that are not back, by inbox */
    unsigned in_reserved;
    unsigned pending[WAYS_IN]; /* the same, by the way they came in */
};

/* Opens the store that is named there once for each thread, to be read, and starts the
 * threads.  On failure nothing is left behind. */
MUST_CHECK enum err_code readers_start(struct readers *rs, const struct store_config *config,
                                       struct sync_thread *sync, struct err *err);

/* E_UNAVAILABLE when READS_PENDING_MAX of that way in are not back yet. */
MUST_CHECK enum err_code readers_check(const struct readers *rs, enum way_in way_in,
                                       struct err *err);
void readers_put(struct readers *rs, struct reading *r, enum way_in way_in);

/* Also for one that was refused and never put. */
void readers_got_back(struct readers *rs, struct reading *r);

/* Runs what is still queued, then ends. */
void readers_stop(struct readers *rs);
