/* SPDX-License-Identifier: MIT */
#include "server/http/connection.h"

#include <poll.h>
#include <stdlib.h>

#include <sys/epoll.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "server/http/connection_internal.h"
#include "server/limits.h"
#include "server/process/server_state.h"
#include "server/request/request.h"

/* ---- its life ---- */

static void on_event(struct watch *w, uint32_t events)
{
    struct connection *c = (struct connection *)w;

    if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0)
        c->input.readable = true;
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        c->input.is_ending = c->hung_up = true;
        /* The engine may hold a request whose client has left. */
        http_of(c)->somebody_left |= c->request != NULL && c->request->phase == REQUEST_WORKING;
    }
    connection_wake(c);
}

void connection_watch(struct connection *c, int how, uint32_t events)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET | events, .data.ptr = &c->watch};

    if (epoll_ctl(http_of(c)->epoll_fd, how, c->channel.fd, &event) < 0)
        c->is_over = true;
}

struct connection *connection_new(struct port *port, int fd, const union address *from)
{
    struct connection *c = mem_zalloc(sizeof(*c));

    c->watch = (struct watch){.fd = fd, .ready = on_event};
    c->port = port;
    c->channel = (struct channel){.transport = &transport_plain, .fd = fd};
    c->from = *from;
    c->out = BUF_INIT(STREAM_BLOCK_MAX);
    input_init(&c->input);
    connections_add(&http_of(c)->connections, c);
    set_deadline(c, http_of(c)->now_at + HEADER_US);
    connection_watch(c, EPOLL_CTL_ADD, EPOLLIN);
    return c;
}

static void connection_free(struct connection *c)
{
    struct port *port = c->port;

    if (c->request != NULL)
        request_free(c->request);
    connections_remove(&port->http->connections, c);
    c->channel.transport->close(&c->channel);
    input_deinit(&c->input);
    buf_deinit(&c->out);
    free(c);
    port_lost_connection(port);
}

void connection_abandon(struct connection *c)
{
    struct request *r = c->request;

    if (r != NULL) {
        r->is_away = false;
        r->phase = REQUEST_ANSWERED;
    }
    connection_free(c);
}

bool connection_is_alive(const struct connection *c)
{
    struct pollfd peer = {.fd = c->channel.fd, .events = POLLRDHUP};

    /* Not a peek: that would see pipelined bytes in front of the end. */
    return poll(&peer, 1, 0) <= 0 || (peer.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
}

/* ---- requests ---- */

/* True when there is more than before.  A connection that sends faster than it is served yields
 * to others. */
static bool read_more(struct connection *c, size_t max)
{
    struct http *h = http_of(c);

    if (h->reads_left == 0) {
        connection_wake(c);
        return false;
    }
    switch (input_fill(&c->input, &c->channel, h->scratch, max)) {
    case INPUT_SOME: h->reads_left--; return true;
    case INPUT_NOTHING: return false;
    case INPUT_END: c->is_over = true; return false;
    }
    return false;
}

static void begin_request(struct connection *c, struct request *r)
{
    c->request = r;
    c->scan = (struct http_head_scan){.at = 0};
    c->state = CONNECTION_BODY;
    http_framing_begin(&c->framing, &r->headers);
    pace_begin(&c->pace, http_of(c)->stall_us, r->begun_at);
    if (headers_announce_body(&r->headers))
        set_deadline(c, pace_move(&c->pace, 0, r->begun_at));
}

static bool take_head(struct connection *c)
{
    struct server *server = http_of(c)->server;
    struct slice input = c->input.rest;
    struct err err = ERR_INIT;
    int status = 0;

    switch (http_head_scan(&c->scan, input, &status, &err)) {
    case HTTP_HEAD_MORE: return read_more(c, READ_BLOCK);
    case HTTP_HEAD_BAD: begin_request(c, request_refused(server, c, status, &err)); return true;
    case HTTP_HEAD_WHOLE: break;
    }
    size_t size = c->scan.at;

    begin_request(c, request_begin(server, c,
                                   slice_make(input.data + c->scan.begin, size - c->scan.begin)));
    input_take(&c->input, size);
    return true;
}

/* Reads beyond the body only when there is room to keep those bytes. */
static size_t body_read_size(const struct connection *c)
{
    if (c->framing.chunked || c->framing.left <= READ_BLOCK)
        return READ_BLOCK;
    return c->framing.left < BODY_BLOCK ? (size_t)c->framing.left : BODY_BLOCK;
}

static bool await_body(struct connection *c)
{
    struct request *r = c->request;

    if (r->awaits_continue) {
        static char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
        struct iovec part = {.iov_base = text, .iov_len = sizeof(text) - 1};

        if (c->channel.transport->send(&c->channel, &part, 1) != (ssize_t)part.iov_len)
            c->is_over = true;
    }
    r->awaits_continue = false;
    return !c->is_over && read_more(c, body_read_size(c));
}

/* The body is complete, or is not read. */
static void hand_over(struct connection *c)
{
    request_dispatch(c->request);
    set_deadline(c, TIME_NEVER);
    c->state = CONNECTION_WORK;
}

static void give_up_body(struct connection *c)
{
    c->is_last = c->lingers = true;
    hand_over(c);
}

static bool take_body(struct connection *c)
{
    struct request *r = c->request;
    struct slice piece;
    size_t used = 0;

    if (request_refuses_rest(r, &c->framing)) {
        give_up_body(c);
        return true;
    }
    switch (http_framing_step(&c->framing, c->input.rest, &used, &piece)) {
    case FRAMING_MORE: input_take(&c->input, used); return await_body(c);
    case FRAMING_PIECE:
        c->request->awaits_continue = false;
        request_take_body(c->request, piece);
        set_deadline(c, pace_move(&c->pace, piece.size, http_of(c)->now_at));
        input_take(&c->input, used);
        return true;
    case FRAMING_DONE:
        input_take(&c->input, used);
        hand_over(c);
        return true;
    case FRAMING_BAD:
        request_refuse_chunks(r);
        give_up_body(c);
        return true;
    }
    return false;
}

/* Drops what still comes after the last reply. */
static bool discard(struct connection *c)
{
    int64_t stall_at = http_of(c)->now_at + LINGER_STALL_US;

    c->discarded += c->input.rest.size;
    input_take(&c->input, c->input.rest.size);
    if (c->discarded > DISCARD_MAX)
        c->is_over = true;
    if (c->is_over || !read_more(c, BODY_BLOCK))
        return false;
    set_deadline(c, stall_at < c->linger_by_at ? stall_at : c->linger_by_at);
    return true;
}

/* ---- the states ---- */

/* Does one step.  False when it has to wait. */
static bool step(struct connection *c)
{
    switch (c->state) {
    case CONNECTION_HEAD: return take_head(c);
    case CONNECTION_BODY: return take_body(c);
    case CONNECTION_WORK: return connection_begin_reply(c);
    case CONNECTION_REPLY: return connection_send_reply(c);
    case CONNECTION_LINGER: return discard(c);
    }
    return false;
}

void connection_work(struct connection *c)
{
    http_of(c)->reads_left = READS_A_TURN;
    while (!c->is_over && step(c))
        ;
    if (!c->is_over)
        input_keep(&c->input);
    else if (!c->is_ready && (c->request == NULL || !request_is_away(c->request)))
        connection_free(c);
}
