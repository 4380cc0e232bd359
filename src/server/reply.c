/* SPDX-License-Identifier: MIT */
#include "server/reply.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "server/limits.h"
#include "server/parts.h"
#include "server/request.h"

#define ERROR_MAX 4096
#define STREAM_BLOCK ((size_t)16 << 10)

void reply_error(struct buf *out, const struct err *err)
{
    buf_add_str(out, "{\"error\":{\"code\":\"");
    buf_add_str(out, err_name(err->code));
    buf_add_str(out, "\",\"message\":");
    json_add_string(out, slice_of(err->msg));
    if (err->item > 0) {
        buf_add_str(out, ",\"detail\":{\"index\":");
        buf_add_int(out, (int64_t)err->item - 1);
        buf_add_char(out, '}');
    }
    buf_add_str(out, "}}");
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    ASSERT(MHD_add_response_header(response, name, value) == MHD_YES);
}

void reply_header(struct request *r, const char *name, const char *value)
{
    add_header(r->response, name, value);
}

void reply_stream(struct request *r, uint64_t size, const char *type,
                  MHD_ContentReaderCallback reader)
{
    r->response = MHD_create_response_from_callback(size, STREAM_BLOCK, reader, r, NULL);
    ASSERT(r->response != NULL);
    add_header(r->response, "Content-Type", type);
}

static struct MHD_Response *from_buf(struct buf *b, const char *type)
{
    static char nothing[1];
    size_t size = b->size;
    struct MHD_Response *response = size == 0
                                        ? MHD_create_response_from_buffer(0, nothing,
                                                                          MHD_RESPMEM_PERSISTENT)
                                        : MHD_create_response_from_buffer(size, buf_take(b),
                                                                          MHD_RESPMEM_MUST_FREE);

    ASSERT(response != NULL);
    add_header(response, "Content-Type", type);
    return response;
}

/* The client is told to look into the log; a second is enough between two lines. */
static void log_internal(struct request *r)
{
    struct http *h = &r->server->http;

    if (h->now_at - h->logged_at < US_PER_S)
        return;
    h->logged_at = h->now_at;
    log_error("%s %s: %s", r->route->method, r->route->path, r->err.msg);
}

static struct MHD_Response *from_error(struct request *r)
{
    CLEANUP(buf) struct buf text = BUF_INIT(ERROR_MAX);

    if (r->err.code == E_INTERNAL)
        log_internal(r);
    reply_error(&text, &r->err);
    struct MHD_Response *response = from_buf(&text, TYPE_JSON);

    if (err_http_status(r->err.code) == MHD_HTTP_SERVICE_UNAVAILABLE)
        add_header(response, "Retry-After", "1");
    if (r->err.code == E_METHOD)
        add_header(response, "Allow", r->note);
    if (r->err.code == E_RANGE)
        add_header(response, "Content-Range", r->note);
    if (r->err.code == E_UNAUTHORIZED)
        add_header(response, "WWW-Authenticate", "Bearer");
    return response;
}

static void judge_size(struct request *r)
{
    if (r->err.code == E_OK && r->response == NULL && r->reply.overflowed)
        (void)err_set(&r->err, E_TOO_LARGE, "the reply is too large: ask for less at once");
}

static struct MHD_Response *make(struct request *r, unsigned *ret_status)
{
    judge_size(r);
    if (r->err.code == E_OK) {
        *ret_status = (unsigned)r->status;
        return r->response != NULL ? STEAL(r->response)
                                   : from_buf(&r->reply, r->type != NULL ? r->type : TYPE_JSON);
    }
    *ret_status = r->status >= 400 ? (unsigned)r->status : (unsigned)err_http_status(r->err.code);
    return from_error(r);
}

enum MHD_Result reply_send(struct request *r)
{
    struct http *h = &r->server->http;
    unsigned status;
    size_t size = r->reply.size;
    struct MHD_Response *response = make(r, &status);

    ASSERT(status >= 200 && status < 600);
    if (h->stopping || r->peer->surplus || r->closes)
        add_header(response, "Connection", "close");
    enum MHD_Result result = MHD_queue_response(r->connection, status, response);

    MHD_destroy_response(response);
    h->answered[status / 100]++;
    if (r->phase == REQUEST_STREAMING)
        return result;
    r->phase = REQUEST_SENT;
    peer_set_deadline(&h->peers, r->peer, peer_pace(h->now_at, size));
    return result;
}
