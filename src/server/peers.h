/*
 * The other ends: one for each connection, with the instant until which something has to come of it.
 *
 * A client that sends its header or its body too slowly, takes its reply too slowly or leaves a connection
 * open for too long is cut off: its socket is shut down, the daemon sees that and cleans up.
 * HTTP thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "server/watch.h"

struct port;
struct request;

struct peer {
    struct watch hangup; /* it will send nothing more; first */
    struct peer *next, *prev;
    struct peer *next_hung; /* in peers.hung */
    struct port *port;
    struct request *request; /* the one in hand, or NULL */
    int fd;
    bool half_closed;    /* it has hung up: it may still read */
    bool surplus;        /* one connection too many: told so and closed */
    int64_t deadline_at; /* by the monotonic clock; TIME_NEVER: it is our turn */
};

struct peers {
    struct peer head;
    int64_t look_at;   /* no deadline is before this */
    struct peer *hung; /* to be judged at the end of the pass */
};

void peers_init(struct peers *ps);

struct peer *peer_new(struct peers *ps, struct port *port, int fd, int64_t deadline_at);
void peer_free(struct peers *ps, struct peer *p);

static inline void peer_set_deadline(struct peers *ps, struct peer *p, int64_t at)
{
    p->deadline_at = at;
    if (at < ps->look_at)
        ps->look_at = at;
}

/* The instant by which `size` bytes, begun at begun_at, have to be through. */
int64_t peer_pace(int64_t begun_at, size_t size);

/* Is somebody still there?  Any thread, while the connection is suspended. */
bool peer_is_alive(const struct peer *p);

void peer_cut_off(struct peer *p);

/* The other end sends nothing more.  The daemon does not notice that when it came together with data: if
 * no whole request has come of it by the end of the pass, there will be none.  True when one of them has
 * a request that waits. */
void peer_hung_up(struct peers *ps, struct peer *p);
MUST_CHECK bool peers_judge_hung(struct peers *ps);

/* Cuts off those whose time is up. */
void peers_look(struct peers *ps, int64_t now_at);
