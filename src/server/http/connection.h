/*
 * A connection: requests in, in order, and their replies out.
 *
 * One request at a time.  While it is worked on nothing is read: what the client sends then waits
 * in the socket.  Its descriptor is registered with epoll once, for edges; an edge makes the
 * connection ready, and connection_work goes through its states as far as it can:
 *
 *   HEAD → BODY → WORK → REPLY → HEAD, or → LINGER when the reply is the last and the client may
 *   still be sending
 *
 * A connection that is over is freed by connection_work alone, and not before its request has come
 * home from other threads.  HTTP thread only, but for connection_is_alive.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <netinet/in.h>

#include "base/buf.h"
#include "server/http/framing.h"
#include "server/http/head.h"
#include "server/http/input.h"
#include "server/http/pace.h"
#include "server/http/transport.h"
#include "server/threads/watch.h"

struct port;
struct request;

enum connection_state {
    CONNECTION_HEAD,   /* the head of a request is awaited */
    CONNECTION_BODY,   /* its body is coming in */
    CONNECTION_WORK,   /* it is being worked on, here or on another thread */
    CONNECTION_REPLY,  /* its reply is going out */
    CONNECTION_LINGER, /* the last reply is out: what still comes is thrown away */
};

/* Where the other end is; unix sockets have none. */
union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct connection {
    struct watch watch;             /* first */
    struct connection *next, *prev; /* of all connections */
    struct connection *next_ready;
    struct port *port;
    struct channel channel;
    union address from;
    enum connection_state state;
    bool is_ready;       /* in the list of those to be worked on */
    bool is_surplus;     /* above the maximum: answered 429 and closed */
    bool is_last;        /* no request follows this one */
    bool lingers;        /* the client may still be sending when the last reply is out */
    bool is_delayed;     /* the reply is held back until the deadline */
    bool is_over;        /* to be freed */
    bool hung_up;        /* the other end sends nothing more; it may still read */
    bool is_paced;       /* REPLY: the client has made us wait */
    bool watches_out;    /* epoll tells when there is room to send */
    int64_t deadline_at; /* by the monotonic clock; TIME_NEVER: it is our turn */

    struct input input;
    struct http_head_scan scan;
    struct http_framing framing;
    struct request *request; /* the current one, or NULL */

    struct buf out; /* head of the reply, or a piece of a stream, that could not be sent at once */
    size_t out_at;  /* of it, sent */
    struct slice body; /* of the reply, in the request: not sent yet */
    size_t unsent;     /* counted in connections.unsent */
    struct pace pace;  /* of the body, then of the reply since the client made us wait for it */
    size_t handed;     /* REPLY, paced: to the socket, with what was in it when the pace began */

    size_t discarded;     /* LINGER */
    int64_t linger_by_at; /* LINGER */
};

/* Takes over the descriptor. */
struct connection *connection_new(struct port *port, int fd, const union address *from);

/* As far as it goes.  May free it. */
void connection_work(struct connection *c);

/* Its deadline has passed.  False when its time is up. */
bool connection_has_time(struct connection *c);

/* Ends it, whatever it is doing.  No other thread works on its request any more. */
void connection_abandon(struct connection *c);

/* It is looked at before the thread waits again. */
void connection_wake(struct connection *c);

/* Is the client still there?  One that has shut down its sending side counts as gone, whatever
 * it sent before. Any thread, while the connection's request is being worked on. */
bool connection_is_alive(const struct connection *c);
