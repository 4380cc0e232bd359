/*
 * The thread that receives notifications of other servers of a shared store and passes them to the
 * engine.
 *
 * Each notification becomes an op with its own memory, freed when it returns.  When the engine
 * does not keep up, notifications are dropped and one op says that some were missed.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "server/threads/engine_thread.h"

struct store_config;
struct store_listener;

struct news_thread {
    struct engine_thread *engine;
    struct store_listener *listener;
    struct inbox_list heard; /* this thread only: goes to the engine in one list */
    bool missed;             /* this thread only: to be told as soon as there is room */
    bool connected;          /* this thread only: has been */
    atomic_uint pending;     /* on their way */
    int stop_fd;             /* an eventfd */
    pthread_t thread;
};

/* The engine's thread runs, and outlives this one.  E_UNAVAILABLE, E_INTERNAL: no thread, no
 * descriptor. */
MUST_CHECK enum err_code news_thread_start(struct news_thread *n, const struct store_config *config,
                                           struct engine_thread *engine, struct err *err);

/* Nothing is handed to the engine after this. */
void news_thread_stop(struct news_thread *n);
