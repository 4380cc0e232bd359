/*
 * Events: committed changes, sent to subscribers.
 *
 * The engine's thread copies an event only while there are subscribers; it is delivered with the
 * batch.  On the HTTP thread each subscriber has a bounded buffer: one that is too slow gets a
 * last event that says so and is dropped.  When too many events are in flight, all subscribers are
 * dropped.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "engine/engine.h"
#include "server/threads/timers.h"

struct server;
struct subscriber;

struct events {
    struct server *server;
    atomic_uint subscribers; /* want all of it */
    atomic_uint followers;   /* of logs: want the ends of jobs */
    atomic_uint pending;     /* on their way */
    atomic_bool lost;        /* some were not sent: too many in flight */
    struct subscriber *first;
    struct timer heartbeat;
};

void events_init(struct events *ev, struct server *server);

/* An event_fn: the engine's thread. */
void events_happened(void *ctx, const struct event *event);

/* Ends all streams: the server stops. */
void events_stop(struct events *ev);
