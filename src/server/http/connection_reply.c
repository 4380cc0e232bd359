/*
 * Replies of a connection: sent as fast as the client takes them, and no slower than its pace.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include <sys/epoll.h>

#include "base/clock.h"
#include "server/http/connection_internal.h"
#include "server/limits.h"
#include "server/request/reply.h"
#include "server/request/request.h"

enum { LOOKS_A_STALL = 6 };

/* Only bytes that the client has taken count, not those in the socket buffer: so the buffer is
 * checked several times within the stall limit.  Returns the deadline. */
static int64_t judge_pace(struct connection *c)
{
    int64_t now_at = http_of(c)->now_at;
    size_t queued = c->channel.transport->queued(&c->channel);
    size_t taken = c->handed > queued ? c->handed - queued : 0;
    int64_t until_at = pace_move(&c->pace, taken > c->pace.moved ? taken - c->pace.moved : 0,
                                 now_at);
    int64_t look_at = now_at + c->pace.stall_us / LOOKS_A_STALL;

    set_deadline(c, look_at < until_at ? look_at : until_at);
    return until_at;
}

bool connection_has_time(struct connection *c)
{
    return c->state == CONNECTION_REPLY && c->is_paced && judge_pace(c) > http_of(c)->now_at;
}

static void await_room(struct connection *c)
{
    const struct request *r = c->request;

    if (!c->is_paced) {
        pace_begin(&c->pace, http_of(c)->stall_us, http_of(c)->now_at);
        c->handed = c->channel.transport->queued(&c->channel);
    }
    c->is_paced = true;
    (void)judge_pace(c);
    if (!c->watches_out)
        connection_watch(c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
    c->watches_out = true;
    connection_count_unsent(&http_of(c)->connections, c, c->out.size + r->reply.size);
}

/* The socket has taken `size` bytes of what is in `first`, then of the reply's body. */
static void count_sent(struct connection *c, struct slice first, size_t size)
{
    size_t of_first = size < first.size ? size : first.size;
    bool is_kept = c->out.size > 0;

    c->body = slice_make(c->body.data + (size - of_first), c->body.size - (size - of_first));
    if (is_kept)
        c->out_at += of_first;
    else if (of_first < first.size)
        buf_add(&c->out, first.data + of_first, first.size - of_first);
    if (c->out_at == c->out.size) {
        buf_deinit(&c->out);
        c->out_at = 0;
    }
}

/* Sends `first`, then the body.  True when the socket has all of it. */
static bool push(struct connection *c, struct slice first)
{
    struct http *h = http_of(c);
    struct iovec parts[2] = {
        {.iov_base = (char *)(uintptr_t)first.data, .iov_len = first.size},
        {.iov_base = (char *)(uintptr_t)c->body.data, .iov_len = c->body.size},
    };
    ssize_t n = c->channel.transport->send(&c->channel, parts, c->body.size > 0 ? 2 : 1);

    if (n < 0 && errno != EAGAIN) {
        c->is_over = true;
        return false;
    }
    if (n > 0 && c->is_paced)
        c->handed += (size_t)n;
    count_sent(c, first, n < 0 ? 0 : (size_t)n);
    if (c->out.size + c->body.size > 0) {
        await_room(c);
        return false;
    }
    if (c->unsent > 0)
        connection_count_unsent(&h->connections, c, 0);
    return true;
}

/* There was nothing to send until now: the client's time starts here. */
static void begin_to_send(struct connection *c)
{
    int64_t now_at = http_of(c)->now_at;

    pace_begin(&c->pace, http_of(c)->stall_us, now_at);
    c->is_paced = false;
    set_deadline(c, pace_move(&c->pace, 0, now_at));
}

/* Delays the reply to a wrong token.  When too many replies are delayed already, it is sent at
 * once and the connection closes.  A client that has hung up frees its place. */
static bool is_held_back(struct connection *c)
{
    struct request *r = c->request;
    struct http *h = http_of(c);

    if (r->delay_us > 0)
        c->is_last |= !connection_delay(&h->connections, c, h->now_at + r->delay_us);
    r->delay_us = 0;
    c->is_over = c->is_delayed && c->hung_up;
    return c->is_delayed;
}

bool connection_begin_reply(struct connection *c)
{
    struct request *r = c->request;
    struct http *h = http_of(c);

    if (r->phase == REQUEST_WORKING || is_held_back(c))
        return false;
    c->is_last |= r->closes || !r->keeps_alive || h->stopping || c->is_surplus;
    c->lingers |= r->closes;
    c->state = CONNECTION_REPLY;
    begin_to_send(c);
    buf_clear(&h->block);
    c->body = reply_begin(r, c->is_last, &h->block);
    return push(c, buf_slice(&h->block));
}

static void finish_reply(struct connection *c)
{
    request_free(c->request);
    c->request = NULL;
    if (!c->is_last) {
        c->state = CONNECTION_HEAD;
        set_deadline(c, http_of(c)->now_at + KEEP_ALIVE_US);
        return;
    }
    /* Closing a socket with unread bytes would reset it, and the client would lose the reply. */
    if (!c->lingers && c->input.rest.size == 0 && !c->input.readable) {
        c->is_over = true;
        return;
    }
    c->channel.transport->finish(&c->channel);
    c->state = CONNECTION_LINGER;
    c->linger_by_at = http_of(c)->now_at + LINGER_US;
    set_deadline(c, http_of(c)->now_at + LINGER_STALL_US);
}

/* Sends the next piece of a stream.  A stream whose client has left ends. */
static bool go_on_with_stream(struct connection *c)
{
    struct http *h = http_of(c);
    struct request *r = c->request;

    buf_clear(&h->block);
    if (!request_is_away(r))
        reply_continue(r, &h->block);
    if (h->block.size > 0) {
        if (c->deadline_at == TIME_NEVER)
            begin_to_send(c);
        return push(c, buf_slice(&h->block));
    }
    if (r->stream.state == STREAM_OPEN) {
        set_deadline(c, TIME_NEVER);
        c->is_over = c->hung_up && !r->stream.is_held && !request_is_away(r);
        return false;
    }
    return true;
}

bool connection_send_reply(struct connection *c)
{
    struct request *r = c->request;

    if (c->out.size + c->body.size > 0)
        return push(c, slice_make(c->out.data + c->out_at, c->out.size - c->out_at));
    if (r->stream.read != NULL && r->stream.state == STREAM_OPEN)
        return go_on_with_stream(c);
    if (r->stream.state == STREAM_BROKEN) {
        c->is_over = true;
        return false;
    }
    finish_reply(c);
    return true;
}
