/*
 * All connections: which are ready, whose deadline has passed, and the replies that clients have
 * not read.
 *
 * A deadline is a number in its connection: setting it costs nothing.  All are checked when the
 * earliest deadline ever set has passed.  HTTP thread only.
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

/* Delays the reply until then.  False when one in DELAYED_SHARE of its kind is delayed already. */
bool connection_delay(struct connections *cs, struct connection *c, int64_t until_at);

/* Closes connections whose deadline has passed, and continues those whose reply was delayed. */
void connections_look(struct connections *cs, int64_t now_at);

/* Works on all that are ready; some may be ready again afterwards. */
void connections_work(struct connections *cs);

/* Counts `size` bytes that the client has not read.  Above UNSENT_MAX in total, the connections
 * that were active least recently are closed. */
void connection_count_unsent(struct connections *cs, struct connection *c, size_t size);
