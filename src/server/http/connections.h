/*
 * All connections: which of them can go on, whose time is up, and what their clients leave unread.
 *
 * A deadline is only a number in its connection: setting it costs nothing, and all are looked at when the earliest
 * that was ever set has passed.  HTTP thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "server/http/connection.h"

struct connections {
    struct connection head;
    struct connection *ready;
    struct connection **ready_end;
    int64_t look_at;      /* no deadline is before this */
    unsigned delayed;     /* connections whose reply is held back */
    size_t unsent;        /* bytes of replies that clients have not taken */
    int64_t shed_told_at; /* the last line about it in the log */
};

void connections_init(struct connections *cs);
void connections_add(struct connections *cs, struct connection *c);
void connections_remove(struct connections *cs, struct connection *c);

static inline void connection_set_deadline(struct connections *cs, struct connection *c, int64_t at)
{
    c->deadline_at = at;
    if (at < cs->look_at)
        cs->look_at = at;
}

/* Holds the reply back until then.  False when one in DELAYED_SHARE of its kind is held back already. */
bool connection_delay(struct connections *cs, struct connection *c, int64_t until_at);

/* Ends those whose time is up, and lets those go on whose reply was held back. */
void connections_look(struct connections *cs, int64_t now_at);

/* Works on all that are ready; some may be ready again afterwards. */
void connections_work(struct connections *cs);

/* The client has left `size` bytes unread.  Above UNSENT_MAX in total, the connections that moved least recently are
 * cut off. */
void connection_count_unsent(struct connections *cs, struct connection *c, size_t size);
