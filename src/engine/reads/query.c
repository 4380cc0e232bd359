/* SPDX-License-Identifier: MIT */
#include "engine/reads/query.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "engine/jobs/bulk.h"
#include "engine/reads/internal.h"
#include "engine/reads/job_json.h"
#include "store/jobs/jobs.h"
#include "store/jobs/logs.h"
#include "store/store.h"
#include "store/work.h"

void query_init(struct query *q, enum query_kind kind)
{
    memset(q, 0, sizeof(*q));
    q->kind = kind;
    q->arena = ARENA_INIT;
    q->reply = BUF_INIT(OP_REPLY_MAX);
    q->limit = 50;
}

void query_deinit(struct query *q)
{
    arena_deinit(&q->arena);
    buf_deinit(&q->reply);
}

/* ---- names ---- */

/* Queues are in the order of their ids. */
const struct stored_queue *view_queue(const struct query_view *v, int64_t id)
{
    size_t low = 0;
    size_t high = v->queues.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (v->queues.items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < v->queues.count && v->queues.items[low].id == id ? &v->queues.items[low] : NULL;
}

const struct stored_queue *view_queue_named(const struct query_view *v, struct slice name)
{
    for (size_t i = 0; i < v->queues.count; i++)
        if (slice_equal(v->queues.items[i].name, name))
            return &v->queues.items[i];
    return NULL;
}

enum err_code view_queue_unknown(const struct query_view *v, struct slice name, enum err_code code,
                                 struct err *err)
{
    const char **names = mem_alloc(sizeof(char *) * (v->queues.count + 1));

    for (size_t i = 0; i < v->queues.count; i++)
        names[i] = v->queues.items[i].name.data;
    definition_name_unknown(DEFINITION_QUEUE, name, names, v->queues.count, code, err);
    free(names);
    return code;
}

struct slice view_queue_name(const struct query_view *v, int64_t id)
{
    const struct stored_queue *q = view_queue(v, id);

    return q == NULL ? SLICE("(removed)") : q->name;
}

static void take_queue(void *ctx, const struct stored_queue *q)
{
    struct query_view *v = ctx;
    struct stored_queue copy = *q;

    copy.name = arena_copy(&v->arena, q->name);
    copy.definition = arena_copy(&v->arena, q->definition);
    VEC_PUSH(&v->queues, copy);
}

/* ---- chunked work ---- */

static void add_work(void *ctx, const struct stored_work *w)
{
    struct buf *b = ctx;

    jtext_add_comma(b);
    buf_add_char(b, '{');
    jtext_add_id(b, "id", w->id);
    jtext_put_string(b, "action", slice_of(bulk_action_name(w->kind)));
    jtext_put_string(b, "state", slice_of(w->finished_at == 0 ? "working" : "done"));
    jtext_put_int(b, "changed", w->changed);
    jtext_put_int(b, "refused", w->refused);
    jtext_put_time(b, "created_at", w->created_at);
    if (w->finished_at != 0)
        jtext_put_time(b, "finished_at", w->finished_at);
    buf_add_char(b, '}');
}

enum err_code query_bulks(struct query_view *v, struct query *q, struct err *err)
{
    buf_add_str(&q->reply, "{\"bulk\":[");
    if (store_work_load(v->store, add_work, &q->reply, err) != E_OK)
        return err->code;
    buf_add_str(&q->reply, "]}");
    return E_OK;
}

enum err_code query_bulk(struct query_view *v, struct query *q, struct err *err)
{
    char text[ID_TEXT_SIZE];

    if (store_work_find(v->store, q->id, add_work, &q->reply, err) != E_OK)
        return err->code;
    return q->reply.size > 0 ? E_OK
                             : err_set(err, E_NOT_FOUND, "there is no bulk action %s (any more)",
                                       id_format(q->id, text));
}

/* ---- logs ---- */

struct log_range {
    struct buf *b;
    int64_t from, to;
};

static void take_piece(void *ctx, int64_t first, struct slice data)
{
    struct log_range *r = ctx;
    int64_t end = first + (int64_t)data.size;
    int64_t from = r->from > first ? r->from : first;
    int64_t to = r->to < end ? r->to : end;

    if (from < to)
        buf_add(r->b, data.data + (from - first), (size_t)(to - from));
}

enum err_code query_no_job(int64_t id, struct err *err)
{
    char text[ID_TEXT_SIZE];

    return err_set(err, E_NOT_FOUND, "there is no job %s (any more)", id_format(id, text));
}

enum err_code query_log(struct query_view *v, struct query *q, struct err *err)
{
    bool found = false;
    struct job j;
    int64_t size = 0;

    if (store_job_load(v->store, q->id, LOAD_STATE, &v->arena, &j, &found, err) != E_OK ||
        store_log_size(v->store, q->id, &size, err) != E_OK)
        return err->code;
    if (!found)
        return query_no_job(q->id, err);
    struct log_range r = {.b = &q->reply, .from = q->offset};

    if (r.from < 0)
        r.from = size + q->offset < 0 ? 0 : size + q->offset;
    r.to = q->length < 0 || r.from > size - q->length ? size : r.from + q->length;
    q->log_size = size;
    q->log_first = r.from;
    q->log_ended = job_state_ended(j.state);
    return store_log_read(v->store, q->id, r.from, r.to, take_piece, &r, err);
}

/* The marks of a log: when its parts came, and where its attempts begin. */
struct log_marks {
    struct buf *times;
    struct buf attempts, errors;
    int64_t last; /* last attempt: one that was returned and begins again is listed once */
};

static void add_mark(void *ctx, const struct log_mark *mark)
{
    struct log_marks *m = ctx;

    switch (mark->kind) {
    case LOG_MARK_ERRORS:
        jtext_add_comma(&m->errors);
        buf_add_int(&m->errors, mark->offset);
        break;
    case LOG_MARK_TIME:
        jtext_add_comma(m->times);
        buf_addf(m->times, "[%lld,", (long long)mark->offset);
        jtext_add_time(m->times, mark->value);
        buf_add_char(m->times, ']');
        break;
    case LOG_MARK_ATTEMPT:
        if (mark->value <= m->last)
            break;
        m->last = mark->value;
        buf_addf(&m->attempts, ",[%lld,%lld]", (long long)m->last, (long long)mark->offset);
        break;
    }
}

enum err_code query_log_times(struct query_view *v, struct query *q, struct err *err)
{
    bool found = false;
    struct job j;

    if (store_job_load(v->store, q->id, LOAD_STATE, &v->arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found)
        return query_no_job(q->id, err);
    struct log_marks marks = {.times = &q->reply,
                              .attempts = BUF_INIT(q->reply.limit),
                              .errors = BUF_INIT(q->reply.limit),
                              .last = 1};

    buf_add_str(&q->reply, "{\"times\":[");
    enum err_code code = store_log_marks(v->store, q->id, add_mark, &marks, err);

    buf_add_str(&q->reply, "],\"attempts\":[[1,0]");
    buf_add_slice(&q->reply, buf_slice(&marks.attempts));
    buf_add_str(&q->reply, "],\"errors\":[");
    buf_add_slice(&q->reply, buf_slice(&marks.errors));
    buf_add_str(&q->reply, "]}");
    buf_deinit(&marks.attempts);
    buf_deinit(&marks.errors);
    return code;
}

/* ---- running ---- */

#define QUERY_ROW(kind, function, needed) [QUERY_##kind] = {query_##function, needed},

static const struct {
    query_fn *run;
    unsigned names; /* that it needs: QUERY_QUEUE_NAMES, QUERY_WORKER_NAMES */
} kinds[QUERY_KIND_COUNT] = {QUERY_KINDS(QUERY_ROW)};

static enum err_code run(struct query_view *v, struct query *q, struct err *err)
{
    if ((kinds[q->kind].names & QUERY_QUEUE_NAMES) != 0 &&
        store_queues_load(v->store, take_queue, v, err) != E_OK)
        return err->code;
    if ((kinds[q->kind].names & QUERY_WORKER_NAMES) != 0 && view_take_workers(v, err) != E_OK)
        return err->code;
    return kinds[q->kind].run(v, q, err);
}

void query_run(struct store *store, struct query *q)
{
    struct query_view v = {.store = store, .arena = ARENA_INIT, .now_at = q->now_at};

    q->err = ERR_INIT;
    if (store_begin(store, &q->err) == E_OK) {
        struct err err = ERR_INIT;

        if (run(&v, q, &err) != E_OK)
            q->err = err;
        else if (q->reply.overflowed)
            err_set(&q->err, E_TOO_LARGE, "the answer is too large: ask for less");
    }
    store_rollback(store);
    VEC_DEINIT(&v.queues);
    VEC_DEINIT(&v.workers);
    names_deinit(&v.served);
    names_deinit(&v.broken);
    map_deinit(&v.groups);
    arena_deinit(&v.arena);
}
