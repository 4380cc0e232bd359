/*
 * NDJSON: many jobs in one request, a line each, committed in chunks while the reply is sent.
 *
 * The body is in memory or in a spool file.  A chunk ends before an empty line, so that its lines
 * have numbers in sequence.  The reply is made only as fast as the client reads it.  The window
 * into a spool lives as long as its chunk is worked on; what all windows hold is bounded
 * (WINDOWS_TOTAL_MAX).
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "core/job/job.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/parse/submit.h"
#include "server/process/server_state.h"
#include "server/request/reply.h"
#include "server/request/request.h"
#include "server/request/spool.h"

#define WINDOW_MAX (JOB_BYTES_MAX + LINES_CHUNK_BYTES)

struct lines {
    int64_t at;         /* in the body: what comes next */
    int64_t size;       /* of the body */
    size_t look_size;   /* of the next window, when lines are not longer than it */
    size_t line;        /* number of the line at `at`, from 1 */
    bool in_long_line;  /* its beginning was refused: the rest is skipped */
    struct buf window;  /* of a spooled body; the chunk's items point into it */
    size_t counted;     /* in http.window_bytes */
    size_t taken;       /* of the request's reply */
    int64_t opener;     /* what the request has opened groups under; 0: it has not */
    bool over;          /* all lines are taken, and the groups know it */
    struct timer again; /* set: there was no room for a window */
    struct request *request;
};

/* ---- the window ---- */

static void drop_window(struct request *r, struct lines *l)
{
    struct http *h = &r->server->http;

    buf_deinit(&l->window);
    h->window_bytes -= l->counted;
    l->counted = 0;
}

static void try_again(struct timer *t)
{
    struct lines *l = (struct lines *)((char *)t - offsetof(struct lines, again));

    l->request->stream.is_held = false;
    request_wake(l->request);
}

/* ---- lines of the body ---- */

/* The visible part of the body from `at` on. */
static enum err_code look(struct request *r, struct lines *l, size_t size, struct slice *ret_window,
                          struct err *err)
{
    if (r->spool == NULL) {
        *ret_window = slice_make(r->body.data + l->at, r->body.size - (size_t)l->at);
        return E_OK;
    }
    int64_t left = l->size - l->at;

    buf_clear(&l->window);
    if ((int64_t)size > left)
        size = (size_t)left;
    if (spool_read(r->spool, l->at, size, &l->window, err) != E_OK)
        return err->code;
    *ret_window = buf_slice(&l->window);
    return E_OK;
}

/* The next line without its end; its size with it.  False when its end is not in sight. */
static bool next_line(struct slice window, bool is_last, struct slice *ret_line, size_t *ret_size)
{
    const char *newline = window.size == 0 ? NULL : memchr(window.data, '\n', window.size);

    if (window.size == 0 || (newline == NULL && !is_last))
        return false;
    size_t size = newline == NULL ? window.size : (size_t)(newline - window.data);

    *ret_size = newline == NULL ? size : size + 1;
    if (size > 0 && window.data[size - 1] == '\r')
        size--;
    *ret_line = slice_make(window.data, size);
    return true;
}

static bool is_blank(struct slice line)
{
    for (size_t i = 0; i < line.size; i++)
        if (line.data[i] != ' ' && line.data[i] != '\t')
            return false;
    return true;
}

/* As many lines as one commit takes.  Returns the bytes used. */
static size_t take_lines(struct request *r, struct lines *l, struct slice window, bool is_last,
                         struct submit_item *items, size_t *ret_count)
{
    const struct submit_source source = {.no_commands = no_commands(r->right)};
    struct op *op = &r->change.op;
    struct slice line;
    size_t used = 0;
    size_t size;

    while (*ret_count < LINES_CHUNK && used < LINES_CHUNK_BYTES &&
           next_line(slice_make(window.data + used, window.size - used), is_last, &line, &size)) {
        if (l->in_long_line || (is_blank(line) && *ret_count == 0)) {
            l->in_long_line = false;
            l->line++;
        } else if (is_blank(line)) {
            break;
        } else {
            parse_submit_line(line, &source, &op->arena, &items[(*ret_count)++]);
        }
        used += size;
    }
    return used;
}

/* A line that does not fit into the largest window is refused and skipped. */
static size_t refuse_long_line(struct lines *l, struct slice window, struct arena *arena,
                               struct submit_item *items, size_t *ret_count)
{
    if (!l->in_long_line) {
        struct err *err = arena_zalloc(arena, sizeof(*err));

        (void)err_set(err, E_TOO_LARGE, "a job has at most %zu bytes", JOB_BYTES_MAX);
        items[0].parse_err = err;
        *ret_count = 1;
        l->in_long_line = true;
    }
    return window.size;
}

/* Fills the op with the next chunk; no items at the end of the body. */
static enum err_code next_chunk(struct request *r, struct lines *l, struct err *err)
{
    struct op *op = request_op(r, OP_SUBMIT);
    struct submit_item *items = arena_array(&op->arena, LINES_CHUNK, sizeof(*items));
    size_t look_size = l->look_size;
    size_t count = 0;

    while (count == 0 && l->at < l->size) {
        struct slice window = {NULL, 0};

        if (look(r, l, look_size, &window, err) != E_OK)
            return err->code;
        bool is_last = l->at + (int64_t)window.size >= l->size;
        size_t used = take_lines(r, l, window, is_last, items, &count);

        if (used == 0 && look_size >= WINDOW_MAX)
            used = refuse_long_line(l, window, &op->arena, items, &count);
        if (used == 0)
            look_size = WINDOW_MAX;
        l->at += (int64_t)used;
    }
    if (count < LINES_CHUNK) /* the lines are long: a commit takes more of them at once */
        l->look_size = LINES_CHUNK_BYTES;
    op->submit = (struct submit){.mode = SUBMIT_LINES,
                                 .items = items,
                                 .n_items = count,
                                 .first_line = l->line,
                                 .goes_on = l->at < l->size,
                                 .is_over = l->at >= l->size,
                                 .request = l->opener};
    if (!l->in_long_line)
        l->line += count;
    return E_OK;
}

/* ---- the reply ---- */

/* None of the chunk's lines was taken: each gets the reason. */
static void refuse_chunk(struct request *r, const struct submit *s, const struct err *why)
{
    for (size_t i = 0; i < s->n_items; i++) {
        const struct err *err = s->items[i].parse_err != NULL ? s->items[i].parse_err : why;

        buf_addf(&r->reply, "{\"line\":%zu,", s->first_line + i);
        buf_addf(&r->reply, "\"error\":{\"code\":\"%s\",\"message\":", err_name(err->code));
        jtext_add_string(&r->reply, slice_of(err->msg));
        buf_add_str(&r->reply, "}}\n");
    }
}

static void chunk_is_done(struct request *r)
{
    struct lines *l = r->state;
    struct op *op = &r->change.op;

    l->taken = 0;
    drop_window(r, l);
    buf_clear(&r->reply);
    if (op->err.code == E_OK) {
        l->opener = op->submit.request;
        l->over = op->submit.is_over;
    }
    if (op->err.code != E_OK) {
        refuse_chunk(r, &op->submit, &op->err);
    } else {
        buf_deinit(&r->reply);
        r->reply = op->reply;
        op->reply = BUF_INIT(OP_REPLY_MAX);
    }
    request_wake(r);
}

static ssize_t read_reply(struct request *r, char *to, size_t max)
{
    struct lines *l = r->state;
    size_t left = r->reply.size - l->taken;
    struct http *h = &r->server->http;
    struct err err;

    if (left > 0) {
        size_t n = left < max ? left : max;

        memcpy(to, r->reply.data + l->taken, n);
        l->taken += n;
        return (ssize_t)n;
    }
    if (r->spool != NULL && h->window_bytes >= WINDOWS_TOTAL_MAX && !h->no_changes) {
        r->stream.is_held = true;
        timer_set(&h->timers, &l->again, h->now_at + WINDOW_AGAIN_US);
        return STREAM_WAIT;
    }
    if (h->no_changes || next_chunk(r, l, &err) != E_OK)
        return STREAM_FAIL;
    l->counted = l->window.capacity;
    r->server->http.window_bytes += l->counted;
    if (r->change.op.submit.n_items == 0 && (l->opener == 0 || l->over))
        return STREAM_END;
    request_run(r, chunk_is_done);
    return STREAM_WAIT;
}

static void over_is_told(struct delivery *d)
{
    struct engine_request *change = (struct engine_request *)d;

    op_deinit(&change->op);
    free(change);
}

/* The client has left before its last line: the groups it has opened do not wait for more. */
static void tell_over(struct request *r, const struct lines *l)
{
    struct http *h = &r->server->http;

    if (l->opener == 0 || l->over || h->no_changes)
        return;
    struct engine_request *change = mem_zalloc(sizeof(*change));

    engine_request_init(change, &r->server->engine, OP_SUBMIT, over_is_told);
    change->op.submit = (struct submit){.mode = SUBMIT_LINES,
                                        .is_over = true,
                                        .request = l->opener};
    inbox_list_add(&h->changes, &change->delivery.item);
}

static void free_lines(struct request *r)
{
    struct lines *l = r->state;

    tell_over(r, l);
    timer_clear(&l->again);
    drop_window(r, l);
    free(l);
}

enum err_code jobs_create_lines(struct request *r, struct err *err)
{
    if (r->headers.idempotency_key.data != NULL)
        return err_set(err, E_INVALID,
                       "Idempotency-Key: is not for NDJSON; give the jobs a 'key' each");
    if (request_param(r, "wait").data != NULL)
        return err_set(err, E_INVALID, "wait: is for one job, not for NDJSON");
    if (request_param(r, "dry_run").data != NULL)
        return err_set(err, E_INVALID, "dry_run: is for a job or an array, not for NDJSON");
    struct lines *l = mem_zalloc(sizeof(*l));

    l->line = 1;
    l->look_size = SPOOL_FROM;
    l->request = r;
    l->again.fire = try_again;
    l->window = BUF_INIT(WINDOW_MAX);
    l->size = r->spool != NULL ? spool_size(r->spool) : (int64_t)r->body.size;
    r->state = l;
    r->cleanup = free_lines;
    reply_stream(r, STREAM_ENDLESS, TYPE_LINES, read_reply);
    r->status = 200;
    return E_OK;
}
