/*
 * Reader threads: each owns a read-only store and runs one reading after the other.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>

#include "base/err.h"
#include "engine/query.h"
#include "server/inbox.h"
#include "server/limits.h"
#include "server/message.h"
#include "store/store.h"

/* A reading on its way.  `run` is called on a reader thread, `deliver` afterwards on the HTTP thread. */
struct reading {
    struct message message;
    void (*run)(struct reading *r, struct store *store);
    struct query query;
};

struct reader {
    struct readers *readers;
    struct store *store;
    pthread_t thread;
};

struct readers {
    struct inbox inbox; /* of readings, shared by all */
    struct inbox *home;
    struct reader threads[READER_THREADS];
    size_t count;
};

/* Opens the store that is named there once for each thread, to be read, and starts the threads.  On failure
 * nothing is left behind. */
MUST_CHECK enum err_code readers_start(struct readers *rs, const struct store_config *config,
                                       struct inbox *home, struct err *err);
void readers_put(struct readers *rs, struct reading *r);

/* Runs what is still there, then ends. */
void readers_stop(struct readers *rs);
