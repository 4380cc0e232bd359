/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "core/job/lease.h"
#include "server/api/api.h"
#include "server/http/range.h"
#include "server/limits.h"
#include "server/process/server_state.h"
#include "server/request/reply.h"
#include "server/request/request.h"

/* ---- POST /v1/jobs/ID/log ---- */

static void answer_append(struct request *r)
{
    if (r->change.op.err.code == E_OK)
        log_follow_heard(&r->server->follow, r->change.op.log.id);
    request_answer_op(r);
}

enum err_code log_append(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_LOG);
    struct slice offset = request_param(r, "offset");
    struct slice lease = request_param(r, "lease");

    if (request_id(r, "job", &op->log.id, err) != E_OK)
        return err->code;
    if (offset.size == 0)
        return err_set(err, E_INVALID, "offset: say where in the log these bytes belong");
    if (!slice_number(offset, &op->log.offset))
        return err_set(err, E_INVALID, "offset: must be a number of bytes");
    if (lease.size == 0)
        return err_set(err, E_INVALID, "lease: give the lease that came with the job");
    op->log.token = lease_prove(&r->server->lease_key, op->log.id, lease);
    op->log.data = buf_slice(&r->body);
    request_run(r, answer_append);
    return E_OK;
}

/* ---- GET /v1/jobs/ID/log ---- */

/* A log that is sent to a client in pieces. */
struct log_stream {
    struct timer timer; /* set: waits for more to come; first */
    struct log_stream *next, *prev;
    struct request *request;
    struct http_range range;
    bool follow;
    int64_t job;
    int64_t at;   /* of the next piece */
    int64_t end;  /* of all that is wanted; INT64_MAX: of whatever comes */
    size_t taken; /* of the piece in the request's reply */
    bool heard;   /* there may be more than was read last */
    bool over;
    bool broken; /* the promised bytes are gone */
};

static void read_piece(struct log_stream *s, request_fn *then)
{
    struct request *r = s->request;
    struct query *q = request_query(r, QUERY_LOG);
    int64_t wanted = s->end == INT64_MAX ? INT64_MAX : s->end - s->at;

    q->id = s->job;
    q->offset = s->at;
    q->length = wanted < (int64_t)LOG_PIECE ? wanted : (int64_t)LOG_PIECE;
    s->heard = false;
    request_read(r, NULL, then);
}

static void take_piece(struct log_stream *s)
{
    struct request *r = s->request;
    struct query *q = &r->reading.query;

    buf_deinit(&r->reply);
    r->reply = q->reply;
    q->reply = BUF_INIT(OP_REPLY_MAX);
    s->taken = 0;
    s->at = q->log_first + (int64_t)r->reply.size;
}

static void await_more(struct log_stream *s)
{
    struct http *h = &s->request->server->http;

    timer_set(&h->timers, &s->timer, h->now_at + FOLLOW_US);
}

/* Followers may wait for the timer. */
static bool may_come_back(const struct log_stream *s)
{
    enum err_code code = s->request->reading.query.err.code;

    return s->follow && !s->over && (code == E_UNAVAILABLE || code == E_TOO_SLOW);
}

static void next_piece_is_there(struct request *r)
{
    struct log_stream *s = r->state;
    const struct query *q = &r->reading.query;
    bool gap = q->log_first != s->at && q->reply.size > 0;

    if (may_come_back(s)) {
        await_more(s);
        return;
    }
    if (q->err.code != E_OK || (gap && !s->follow) || (q->reply.size == 0 && !s->follow))
        s->broken = s->over = true;
    else if (q->reply.size > 0)
        take_piece(s);
    else if (q->log_ended)
        s->over = true;
    if (s->over || r->reply.size > s->taken)
        request_wake(r);
    else if (s->heard)
        read_piece(s, next_piece_is_there);
    else
        await_more(s);
}

static void time_is_up(struct timer *t)
{
    read_piece((struct log_stream *)t, next_piece_is_there);
}

static ssize_t read_stream(struct request *r, char *to, size_t max)
{
    struct log_stream *s = r->state;
    size_t left = r->reply.size - s->taken;

    if (left > 0) {
        size_t n = left < max ? left : max;

        memcpy(to, r->reply.data + s->taken, n);
        s->taken += n;
        return (ssize_t)n;
    }
    if (s->broken && !s->follow)
        return STREAM_FAIL;
    if (s->over || s->at >= s->end)
        return STREAM_END;
    if (!timer_is_set(&s->timer))
        read_piece(s, next_piece_is_there);
    return STREAM_WAIT;
}

static void leave(struct request *r)
{
    struct log_stream *s = r->state;
    struct log_follow *f = &r->server->follow;

    timer_clear(&s->timer);
    if (s->follow) {
        if (s->next != NULL)
            s->next->prev = s->prev;
        if (s->prev != NULL)
            s->prev->next = s->next;
        else
            f->first = s->next;
        f->count--;
        atomic_fetch_sub(&r->server->events.followers, 1);
    }
    free(s);
}

void log_follow_heard(struct log_follow *f, int64_t job)
{
    for (struct log_stream *s = f->first; s != NULL; s = s->next) {
        if (s->job != job && job != LOG_FOLLOW_ALL)
            continue;
        s->heard = true;
        if (!timer_is_set(&s->timer))
            continue;
        timer_clear(&s->timer);
        read_piece(s, next_piece_is_there);
    }
}

void log_follow_stop(struct log_follow *f)
{
    for (struct log_stream *s = f->first; s != NULL; s = s->next) {
        s->over = true;
        if (!timer_is_set(&s->timer))
            continue;
        timer_clear(&s->timer);
        request_wake(s->request);
    }
}

/* ---- the first piece decides on status and length ---- */

/* Everything asked for is in the reply, or is streamed after it. */
static void answer_known(struct log_stream *s, int64_t first, int64_t size)
{
    struct request *r = s->request;
    int64_t last = s->end - 1;
    char range[96];

    reply_stream(r, (uint64_t)(s->end - first), TYPE_TEXT, read_stream);
    r->status = s->range.given ? 206 : 200;
    reply_header(r, "Accept-Ranges", "bytes");
    snprintf(range, sizeof(range), "bytes %" PRId64 "-%" PRId64 "/%" PRId64, first, last, size);
    if (s->range.given)
        reply_header(r, "Content-Range", range);
}

static void first_piece_is_there(struct request *r)
{
    struct log_stream *s = r->state;
    const struct query *q = &r->reading.query;
    int64_t size = q->log_size;
    int64_t first = q->log_first;

    if (q->err.code != E_OK) {
        request_answer_query(r);
        return;
    }
    bool ended = q->log_ended;

    take_piece(s);
    if (s->follow) {
        s->over = ended && s->at >= size;
        reply_stream(r, STREAM_ENDLESS, TYPE_TEXT, read_stream);
        r->status = 200;
        return;
    }
    if (s->range.given && r->reply.size == 0) {
        snprintf(r->note, sizeof(r->note), "bytes */%" PRId64, size);
        (void)err_set(&r->err, E_RANGE,
                      "the log has %" PRId64 " bytes: there are none in that range", size);
        request_answer(r, 0);
        return;
    }
    int64_t last = s->range.last < size - 1 ? s->range.last : size - 1;

    s->end = r->reply.size == 0 ? first : last + 1;
    answer_known(s, first, size);
}

static enum err_code show_times(struct request *r, int64_t job, bool follow, struct err *err)
{
    if (follow)
        return err_set(err, E_INVALID, "times: cannot be followed; ask for them again");
    request_query(r, QUERY_LOG_TIMES)->id = job;
    request_read(r, NULL, NULL);
    return E_OK;
}

enum err_code log_show(struct request *r, struct err *err)
{
    struct log_stream *s;
    int64_t job;
    bool follow;
    bool times;

    if (request_id(r, "job", &job, err) != E_OK ||
        request_flag(r, "follow", &follow, err) != E_OK ||
        request_flag(r, "times", &times, err) != E_OK)
        return err->code;
    if (times)
        return show_times(r, job, follow, err);
    if (follow && r->server->follow.count >= FOLLOWERS_MAX)
        return err_set(err, E_TOO_MANY, "at most %d can follow logs", FOLLOWERS_MAX);
    s = mem_zalloc(sizeof(*s));
    s->timer.fire = time_is_up;
    s->request = r;
    s->range = http_range_parse(r->headers.range);
    s->follow = follow;
    s->job = job;
    s->at = s->range.first;
    s->end = INT64_MAX;
    if (!follow && s->range.first >= 0 && s->range.last < INT64_MAX)
        s->end = s->range.last + 1;
    r->state = s;
    r->cleanup = leave;
    if (follow) {
        struct log_follow *f = &s->request->server->follow;

        s->next = f->first;
        if (f->first != NULL)
            f->first->prev = s;
        f->first = s;
        f->count++;
        atomic_fetch_add(&s->request->server->events.followers, 1);
    }
    read_piece(s, first_piece_is_there);
    return E_OK;
}
