/* SPDX-License-Identifier: MIT */
#include "server/http/framing.h"
#include "server/limits.h"
#include "server/process/server_state.h"
#include "server/request/request.h"
#include "server/request/spool.h"

bool request_refuses_rest(const struct request *r, const struct http_framing *framing)
{
    if (r->err.code == E_OK || framing->state == FRAMING_END)
        return false;
    return r->awaits_continue || framing->chunked || framing->left > SKIP_MAX;
}

static enum err_code too_large(const struct request *r, struct err *err)
{
    bool large = r->body_max >= (size_t)1 << 20;

    return err_set(err, E_TOO_LARGE, "the body is too large: at most %zu %s are taken here",
                   r->body_max >> (large ? 20 : 10), large ? "MiB" : "KiB");
}

static enum err_code too_many_bodies(struct err *err)
{
    return err_set(err, E_UNAVAILABLE, "too many large requests at once: try again later");
}

enum err_code request_check_length(const struct request *r, struct err *err)
{
    size_t length = r->headers.length;

    if (length > r->body_max)
        return too_large(r, err);
    if (r->lines && length > SPOOL_FROM)
        length = SPOOL_FROM;
    if (length > BODY_FREE && r->server->http.body_bytes + length > BODIES_TOTAL_MAX)
        return too_many_bodies(err);
    return E_OK;
}

void request_drop_body(struct request *r)
{
    struct http *h = &r->server->http;

    h->trim |= r->body.capacity > BODY_TRIM;
    buf_deinit(&r->body);
    if (r->spool != NULL) {
        size_t size = (size_t)spool_size(r->spool);

        ASSERT(h->spool_bytes >= size);
        h->spool_bytes -= size;
        h->spools--;
    }
    spool_free(r->spool);
    r->spool = NULL;
    h->body_bytes -= r->body_counted;
    r->body_counted = 0;
}

/* Bodies above BODY_FREE share one memory limit. */
static enum err_code count_memory(struct request *r, size_t size, struct err *err)
{
    struct http *h = &r->server->http;

    if (r->body_seen <= BODY_FREE)
        return E_OK;
    if (h->body_bytes + size > BODIES_TOTAL_MAX)
        return too_many_bodies(err);
    r->body_counted += size;
    h->body_bytes += size;
    return E_OK;
}

static enum err_code too_many_spools(struct err *err)
{
    return err_set(err, E_UNAVAILABLE, "too many long requests at once: try again later");
}

static enum err_code add_to_spool(struct request *r, struct slice data, struct err *err)
{
    struct http *h = &r->server->http;

    if (h->spool_bytes + data.size > SPOOL_TOTAL_MAX)
        return too_many_spools(err);
    /* A failed write may have stored a part, which is freed with the spool. */
    int64_t before = spool_size(r->spool);
    enum err_code code = spool_add(r->spool, data, err);

    h->spool_bytes += (size_t)(spool_size(r->spool) - before);
    return code;
}

/* Moves the body from memory to a file; the rest follows there. */
static enum err_code begin_spool(struct request *r, struct err *err)
{
    struct http *h = &r->server->http;

    if (h->spools >= SPOOLS_MAX)
        return too_many_spools(err);
    if (spool_new(r->server->data_fd, &r->spool, err) != E_OK)
        return err->code;
    h->spools++;
    if (add_to_spool(r, buf_slice(&r->body), err) != E_OK)
        return err->code;
    buf_deinit(&r->body);
    h->body_bytes -= r->body_counted;
    r->body_counted = 0;
    return E_OK;
}

static enum err_code keep(struct request *r, struct slice data, struct err *err)
{
    if (r->body_seen > r->body_max)
        return too_large(r, err);
    if (r->route->body == BODY_NONE)
        return E_OK;
    if (r->lines && r->spool == NULL && r->body_seen > SPOOL_FROM && begin_spool(r, err) != E_OK)
        return err->code;
    if (r->spool != NULL)
        return add_to_spool(r, data, err);
    if (count_memory(r, data.size, err) != E_OK)
        return err->code;
    /* Reserves a small body at once.  A larger one grows as it arrives, so that announcing a length
     * takes no memory. */
    if (r->body.data == NULL)
        (void)buf_reserve(&r->body, r->headers.length < BODY_FREE ? r->headers.length : BODY_FREE);
    buf_add_slice(&r->body, data);
    ASSERT(!r->body.overflowed);
    return E_OK;
}

void request_take_body(struct request *r, struct slice data)
{
    r->body_seen += data.size;
    if (r->err.code == E_OK && keep(r, data, &r->err) != E_OK)
        request_drop_body(r);
}

void request_refuse_chunks(struct request *r)
{
    if (r->err.code == E_OK)
        (void)err_set(&r->err, E_BAD_REQUEST,
                      "the chunks of the body are malformed, or have too long extensions or "
                      "trailer fields");
}
