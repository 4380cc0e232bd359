/*
 * The HTTP thread: sockets, requests and replies, in one epoll loop.
 *
 * Every listening socket has a daemon of libmicrohttpd in external mode; its epoll descriptor sits in ours,
 * next to the inbox and whatever else is watched.  A request that needs the engine or a reader is
 * suspended until it comes home.  Tasks for the engine are gathered during one pass over what is ready and
 * handed over together.
 *
 * Everything here belongs to the HTTP thread except the inbox and the atomic counters.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "server/inbox.h"
#include "server/peers.h"
#include "server/timers.h"
#include "server/watch.h"

struct MHD_Daemon;
struct server;
struct http;

enum { PORTS_MAX = 8, STATUS_CLASSES = 6 };

/* A listening socket and its daemon. */
struct port {
    struct watch watch; /* the daemon's epoll; first */
    struct http *http;
    struct MHD_Daemon *daemon;
    int listen_fd;
    bool local; /* a Unix socket */
    bool is_ready;
    unsigned connections;
    unsigned connections_max;
    unsigned connections_peak; /* since there was none */
};

struct http {
    struct server *server;
    struct port ports[PORTS_MAX];
    size_t n_ports;
    int epoll_fd;
    struct watch letters;    /* the inbox's eventfd */
    struct inbox inbox;      /* of messages */
    struct inbox_list tasks; /* for the engine, at the end of the pass */
    struct peers peers;
    struct timers timers;
    int64_t now_at; /* by the monotonic clock, read once a pass */

    size_t requests;   /* begun, not completed */
    size_t body_bytes; /* of all bodies in memory that count */
    size_t spool_bytes;
    bool trim;                         /* something large was freed */
    bool stopping;                     /* new requests are refused */
    bool no_tasks;                     /* the engine takes no more */
    bool no_readings;                  /* nor do the readers */
    int64_t logged_at;                 /* the last internal error */
    uint64_t answered[STATUS_CLASSES]; /* by the first digit of the status */
};

MUST_CHECK enum err_code http_open(struct http *h, struct server *server, struct err *err);

/* Serves a listening socket, which belongs to `h` from then on, also on failure. */
MUST_CHECK enum err_code http_listen(struct http *h, int fd, bool local, struct err *err);

MUST_CHECK enum err_code http_watch(struct http *h, struct watch *w, struct err *err);
void http_unwatch(struct http *h, struct watch *w); /* before its descriptor is closed */

/* One pass: waits for something to do, at most until until_at (TIME_NEVER), and does it. */
void http_pass(struct http *h, int64_t until_at);

/* No new connections from now on; requests that still come are refused. */
void http_stop_listening(struct http *h);

/* Ends every connection.  No other thread may have a task or a reading any more. */
void http_close(struct http *h);

/* After that. */
void http_deinit(struct http *h);

unsigned http_connections(const struct http *h);
