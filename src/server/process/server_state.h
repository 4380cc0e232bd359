/*
 * The state of a running server: its settings and its parts.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "server/http/http.h"
#include "server/process/worker_child.h"
#include "server/request/auth.h"
#include "server/request/triggers.h"
#include "server/server.h"
#include "server/streams/events.h"
#include "server/streams/log_follow.h"
#include "server/threads/chores.h"
#include "server/threads/engine_thread.h"
#include "server/threads/news_thread.h"
#include "server/threads/readers.h"
#include "server/threads/sync_thread.h"
#include "store/damage.h"
#include "store/shared.h"
#include "store/store.h"

struct server {
    const struct server_config *config;
    struct arena arena; /* texts of the settings; nothing of it is freed while the server runs */
    struct auth_settings auth;
    struct triggers triggers;
    const char *url;      /* base of full ids */
    const char *listen;   /* ADDR:PORT, as it is; "" when there is none */
    const char *socket;   /* path of the Unix socket */
    const char *data_dir; /* absolute */
    int data_fd;
    struct store_config store_config; /* as readers and chores open it */
    const struct store *store;  /* the engine's; from here only store_is_away and store_is_shared */
    const char *store_url;      /* without its password, for people; NULL: the embedded store */
    struct store_member member; /* who we are on a shared store */
    int64_t started_at;         /* by the wall clock */
    int64_t started_mono_at;
    bool is_ready; /* all has been started */
    bool is_stopping;
    bool sync_broke;    /* the reason to stop */
    int64_t stop_by_at; /* then the process exits whatever happens; by the monotonic clock */
    struct store_damage damage;

    struct siphash_key lease_key; /* what proves leases */

    struct http http;
    struct sync_thread sync;
    struct engine_thread engine;
    struct news_thread news; /* of a shared store */
    struct readers readers;
    struct chores chores;
    struct events events;
    struct log_follow follow;
    struct worker_child worker;
};
