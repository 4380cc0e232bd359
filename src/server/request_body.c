/* SPDX-License-Identifier: MIT */
#include "server/limits.h"
#include "server/parts.h"
#include "server/request.h"
#include "server/spool.h"

bool request_refuses_body(const struct request *r)
{
    if (r->err.code == E_OK || !headers_announce_body(&r->headers))
        return false;
    return r->headers.expects || r->closes || r->headers.length > DISCARD_MAX;
}

void request_drop_body(struct request *r)
{
    struct http *h = &r->server->http;

    h->trim |= r->body.capacity > BODY_TRIM;
    buf_deinit(&r->body);
    if (r->spool != NULL)
        h->spool_bytes -= (size_t)spool_size(r->spool);
    spool_free(r->spool);
    r->spool = NULL;
    h->body_bytes -= r->body_counted;
    r->body_counted = 0;
}

/* Bodies that are not small share what memory there is for them. */
static enum err_code count_memory(struct request *r, size_t size, struct err *err)
{
    struct http *h = &r->server->http;

    if (r->body_seen <= BODY_FREE)
        return E_OK;
    if (h->body_bytes + size > BODIES_TOTAL_MAX)
        return err_set(err, E_UNAVAILABLE, "too many large requests at once: try again later");
    r->body_counted += size;
    h->body_bytes += size;
    return E_OK;
}

static enum err_code add_to_spool(struct request *r, struct slice data, struct err *err)
{
    struct http *h = &r->server->http;

    if (h->spool_bytes + data.size > SPOOL_TOTAL_MAX)
        return err_set(err, E_UNAVAILABLE, "too many long requests at once: try again later");
    if (spool_add(r->spool, data, err) != E_OK)
        return err->code;
    h->spool_bytes += data.size;
    return E_OK;
}

/* What has gathered in memory goes to a file, and all that follows. */
static enum err_code begin_spool(struct request *r, struct err *err)
{
    struct http *h = &r->server->http;

    if (spool_new(r->server->data_fd, &r->spool, err) != E_OK ||
        add_to_spool(r, buf_slice(&r->body), err) != E_OK)
        return err->code;
    buf_deinit(&r->body);
    h->body_bytes -= r->body_counted;
    r->body_counted = 0;
    return E_OK;
}

/* The announced length, all at once: what is not touched costs nothing. */
static void reserve(struct request *r)
{
    size_t size = r->lines && r->headers.length > SPOOL_FROM ? SPOOL_FROM : r->headers.length;

    if (r->body.data == NULL && r->headers.has_length)
        (void)buf_reserve(&r->body, size);
}

static enum err_code keep(struct request *r, struct slice data, struct err *err)
{
    if (r->body_seen > r->body_max)
        return err_set(err, E_TOO_LARGE, "the body is too large: at most %zu MiB are taken here",
                       r->body_max >> 20);
    if (r->lines && r->spool == NULL && r->body_seen > SPOOL_FROM && begin_spool(r, err) != E_OK)
        return err->code;
    if (r->spool != NULL)
        return add_to_spool(r, data, err);
    if (count_memory(r, data.size, err) != E_OK)
        return err->code;
    reserve(r);
    buf_add_slice(&r->body, data);
    ASSERT(!r->body.overflowed);
    return E_OK;
}

bool request_take_body(struct request *r, struct slice data)
{
    struct http *h = &r->server->http;
    int64_t stall_at = h->now_at + STALL_US;
    int64_t pace_at = peer_pace(r->begun_at, r->body_seen + data.size);

    r->body_seen += data.size;
    peer_set_deadline(&h->peers, r->peer, stall_at < pace_at ? stall_at : pace_at);
    if (r->err.code == E_OK && r->route->body != BODY_NONE && keep(r, data, &r->err) != E_OK)
        request_drop_body(r);
    if (r->err.code == E_OK && r->route->body != BODY_NONE)
        return true;
    return r->body_seen <= DISCARD_MAX;
}
