/* SPDX-License-Identifier: MIT */
#include "server/request/reply.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "server/limits.h"
#include "server/process/server_state.h"

/* ---- errors ---- */

void reply_errors(struct buf *out, const struct err *err, const struct err *all, size_t n)
{
    buf_add_str(out, "{\"error\":{\"code\":\"");
    buf_add_str(out, err_name(err->code));
    buf_add_str(out, "\",\"message\":");
    jtext_add_string(out, slice_of(err->msg));
    if (err->item > 0 || err->unknown_queue || n > 0) {
        buf_add_str(out, ",\"detail\":{");
        if (err->item > 0)
            jtext_put_int(out, "index", (int64_t)err->item - 1);
        if (err->unknown_queue)
            jtext_put_string(out, "unknown", SLICE("queue"));
        if (n > 0) {
            jtext_add_key(out, "errors");
            buf_add_char(out, '[');
            for (size_t i = 0; i < n; i++) {
                jtext_add_comma(out);
                jtext_add_string(out, slice_of(all[i].msg));
            }
            buf_add_char(out, ']');
        }
        buf_add_char(out, '}');
    }
    buf_add_str(out, "}}");
}

void reply_header(struct request *r, const char *name, const char *value)
{
    buf_add_str(&r->fields, name);
    buf_add_str(&r->fields, ": ");
    buf_add_str(&r->fields, value);
    buf_add_str(&r->fields, "\r\n");
    ASSERT(!r->fields.overflowed);
}

static void make_error(struct request *r)
{
    if (r->err.code == E_INTERNAL) {
        /* The reply refers to the log; one line a second is enough. */
        struct http *h = &r->server->http;

        if (h->now_at - h->logged_at >= US_PER_S) {
            h->logged_at = h->now_at;
            log_error("%s %s: %s", r->route->method, r->route->path, r->err.msg);
        }
    }
    r->status = r->status >= 400 ? r->status : err_http_status(r->err.code);
    r->type = TYPE_JSON;
    buf_clear(&r->fields);
    buf_deinit(&r->reply);
    reply_errors(&r->reply, &r->err, r->all_errs, r->n_errs);
    if (r->status == 503)
        reply_header(r, "Retry-After", "1");
    if (r->err.code == E_METHOD)
        reply_header(r, "Allow", r->note);
    if (r->err.code == E_RANGE)
        reply_header(r, "Content-Range", r->note);
    if (r->err.code == E_UNAUTHORIZED)
        reply_header(r, "WWW-Authenticate", "Bearer");
}

/* ---- the head ---- */

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {206, "Partial Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
        {507, "Insufficient Storage"},
    };

    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return "";
}

/* Replies are not cached, not sniffed and not shown in frames. */
static void write_head(const struct request *r, bool is_last, struct buf *out)
{
    buf_add_str(out, "HTTP/1.1 ");
    buf_add_int(out, r->status);
    buf_add_char(out, ' ');
    buf_add_str(out, reason(r->status));
    buf_add_str(out, "\r\nContent-Type: ");
    buf_add_str(out, r->type != NULL ? r->type : TYPE_JSON);
    bool streams = r->stream.read != NULL;

    if (r->stream.chunked) {
        buf_add_str(out, "\r\nTransfer-Encoding: chunked");
    } else if (!streams || r->stream.left != STREAM_ENDLESS) {
        buf_add_str(out, "\r\nContent-Length: ");
        buf_add_int(out, streams ? (int64_t)r->stream.left : (int64_t)r->reply.size);
    }
    buf_add_str(out, "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
    buf_add_slice(out, buf_slice(&r->fields));
    if (is_last)
        buf_add_str(out, "Connection: close\r\n");
    else if (r->is_1_0)
        buf_add_str(out, "Connection: keep-alive\r\n");
    buf_add_str(out, "\r\n");
}

/* A small body is copied behind its head: one part costs less to send than two. */
enum { COPY_MAX = 2048 };

struct slice reply_begin(struct request *r, bool is_last, struct buf *out)
{
    bool streams = r->phase == REQUEST_STREAMING;

    if (r->err.code == E_OK && !streams && r->reply.overflowed)
        (void)err_set(&r->err, E_TOO_LARGE, "the reply is too large: ask for less at once");
    if (r->err.code != E_OK)
        make_error(r);
    ASSERT(r->status >= 200 && r->status < 600);
    r->server->http.answered[r->status / 100]++;
    write_head(r, is_last, out);
    if (r->is_head) {
        r->stream.state = STREAM_OVER;
        return slice_make(NULL, 0);
    }
    if (!streams && r->reply.size > COPY_MAX)
        return buf_slice(&r->reply);
    if (streams)
        reply_continue(r, out);
    else
        buf_add_slice(out, buf_slice(&r->reply));
    return slice_make(NULL, 0);
}

/* ---- streams ---- */

/* A client of HTTP/1.0 knows no chunks: the end of the connection is the end of the stream. */
void reply_stream(struct request *r, uint64_t size, const char *type, stream_fn *read)
{
    bool endless = size == STREAM_ENDLESS;

    r->stream = (struct stream){.read = read, .left = size, .chunked = endless && !r->is_1_0};
    r->keeps_alive &= !endless || !r->is_1_0;
    r->type = type;
    r->phase = REQUEST_STREAMING;
}

enum { FRAME_HEAD = 6, FRAME_TAIL = 2 }; /* "3FFF" CR LF, and CR LF */

/* Adds the next part, framed when the stream is chunked.  False when there is none now. */
static bool pull(struct request *r, struct buf *out)
{
    struct stream *s = &r->stream;
    size_t max = s->left < STREAM_BLOCK ? (size_t)s->left : STREAM_BLOCK;
    char *frame = buf_reserve(out, FRAME_HEAD + STREAM_BLOCK + FRAME_TAIL);
    char *to = s->chunked ? frame + FRAME_HEAD : frame;

    ASSERT(frame != NULL);
    ssize_t n = max == 0 ? STREAM_END : s->read(r, to, max);

    if (n == STREAM_WAIT)
        return false;
    if (n < 0) {
        bool is_short = s->left != STREAM_ENDLESS && s->left > 0;

        s->state = n == STREAM_FAIL || is_short ? STREAM_BROKEN : STREAM_OVER;
        if (s->state == STREAM_OVER && s->chunked)
            buf_add_str(out, "0\r\n\r\n");
        return false;
    }
    out->size += (size_t)n;
    if (s->left != STREAM_ENDLESS)
        s->left -= (size_t)n;
    if (s->chunked) {
        for (int i = 0; i < 4; i++)
            frame[i] = "0123456789abcdef"[(size_t)n >> (12 - 4 * i) & 15];
        memcpy(frame + 4, "\r\n", 2);
        out->size += FRAME_HEAD;
        buf_add_str(out, "\r\n");
    }
    return true;
}

void reply_continue(struct request *r, struct buf *out)
{
    while (r->stream.state == STREAM_OPEN && out->size < STREAM_BLOCK && pull(r, out))
        ;
}
