/*
 * What the files of a connection share: connection.c takes requests, connection_reply.c sends
 * replies.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "server/http/connection.h"
#include "server/http/connections.h"
#include "server/http/http.h"

static inline struct http *http_of(const struct connection *c)
{
    return c->port->http;
}

static inline void set_deadline(struct connection *c, int64_t at)
{
    connection_set_deadline(&http_of(c)->connections, c, at);
}

/* epoll reports these events, besides that the other end has closed. */
void connection_watch(struct connection *c, int how, uint32_t events);

/* Steps of the states WORK and REPLY: false when the connection has to wait. */
bool connection_begin_reply(struct connection *c);
bool connection_send_reply(struct connection *c);
