/*
 * Listening sockets: how many connections each accepts.
 *
 * Each socket has a maximum that leaves descriptors for the others and for the server's own files:
 * connections over TCP can never use up those of the Unix socket.  A few connections above the
 * maximum are accepted and answered 429; beyond them none is accepted until one has closed.  When
 * the system has no descriptor left, accepting pauses and is tried again; the Unix socket keeps a
 * few in reserve for that case, so that the administrator gets in.  HTTP thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "server/threads/timers.h"
#include "server/threads/watch.h"

struct http;

enum { PORT_RESERVE = 4 };

struct port {
    struct watch watch; /* first */
    struct timer again; /* set: there was no descriptor; then it is tried again */
    struct http *http;
    bool local;                /* a Unix socket */
    int reserve[PORT_RESERVE]; /* of a Unix socket: freed when no descriptor is left; or -1 */
    bool is_paused;            /* epoll does not report new connections */
    unsigned connections;
    unsigned connections_max;  /* of all sockets of its kind together */
    unsigned connections_peak; /* since there was none */
};

/* Serves a listening socket, which belongs to the port from then on, also on failure. */
MUST_CHECK enum err_code port_open(struct port *port, struct http *http, int fd, bool local,
                                   struct err *err);

/* Accepts no more connections. */
void port_close(struct port *port);

/* One of its connections was closed. */
void port_lost_connection(struct port *port);
