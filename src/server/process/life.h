/*
 * The life of a server: what serve.c opens in order, and stop.c closes in the opposite order.
 *
 * HTTP thread only, except where a member says otherwise.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/definition/definition.h"
#include "server/http/listeners.h"
#include "server/process/data_dir.h"
#include "server/process/server_state.h"
#include "server/process/settings.h"
#include "server/threads/delivery.h"

/* What is open, so that it can be closed again. */
struct life {
    struct server *server;
    struct own_dir dir;
    struct definitions definitions;
    struct settings settings;
    struct listeners listeners;
    struct store *store;   /* the engine's thread uses it while it runs, the
                              sync thread syncs it */
    struct engine *engine; /* until the engine's thread has it */
    int64_t trouble_at;    /* the engine's thread: when there was trouble last, */
    int64_t told_at;       /* when it was logged, */
    struct err trouble;    /* and which it was */
    struct watch signals;
    bool has_http;
    bool has_engine_thread;
    bool has_news;
    bool has_readers;
    bool has_sync;
    bool was_unclean;
    bool made_socket; /* in the data directory, by us */
};

/* Blocks TERM, INT and HUP and opens a descriptor for them, to be watched by the loop. */
MUST_CHECK enum err_code life_open_signals(struct life *life, struct err *err);

/* Ends serving because a sync has failed: `d` is sync_thread.broken. */
void life_store_broke(struct delivery *d);

/* Ends serving: answers, stops and joins what was started. */
void life_stop(struct life *life);

/* Closes whatever is open, also after a start that failed, and frees the server. */
void life_close(struct life *life);
