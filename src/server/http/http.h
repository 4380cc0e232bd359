/*
 * The HTTP thread: sockets, requests and replies, in one epoll loop.
 *
 * Events and deliveries from other threads only mark connections as ready; connections.c then
 * works on those.  Requests to the engine are collected and sent together at the end of the pass.
 *
 * Everything here belongs to the HTTP thread except the inbox and the atomic counters.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "server/http/connections.h"
#include "server/http/ports.h"
#include "server/request/auth_guard.h"
#include "server/threads/inbox.h"
#include "server/threads/timers.h"
#include "server/threads/watch.h"

struct server;

enum { PORTS_MAX = 8, STATUS_CLASSES = 6 };

struct http {
    struct server *server;
    struct port ports[PORTS_MAX];
    size_t n_ports;
    int epoll_fd;
    struct watch deliveries;   /* the inbox's eventfd */
    struct inbox inbox;        /* of messages */
    struct inbox_list changes; /* for the engine, at the end of the pass */
    struct connections connections;
    struct timers timers;
    struct auth_guard guard;
    int64_t stall_us;    /* for the next bytes of a body or reply: pace.h */
    int64_t now_at;      /* by the monotonic clock, read once a pass */
    char *scratch;       /* BODY_BLOCK bytes: what was read last */
    struct buf block;    /* what is sent next */
    unsigned reads_left; /* of the current connection, before others get a turn */
    bool somebody_left;  /* a client whose request is on another thread has hung up */

    size_t requests;   /* begun, not completed */
    size_t body_bytes; /* of all bodies in memory that count */
    size_t spool_bytes;
    size_t window_bytes; /* of spooled bodies, in memory */
    unsigned spools;
    bool trim;                         /* something large was freed */
    bool stopping;                     /* new requests are refused */
    bool no_changes;                   /* the engine takes no more */
    bool no_readings;                  /* nor do the readers */
    int64_t logged_at;                 /* the last internal error */
    int64_t accept_told_at;            /* the last line about missing descriptors */
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

/* Ends every connection.  No other thread may have a change or a reading any more. */
void http_close(struct http *h);

/* After that. */
void http_deinit(struct http *h);

unsigned http_connections(const struct http *h);
