/*
 * Queues with their counts, as people see them.
 */
/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "engine/reads/internal.h"
#include "engine/reads/job_json.h"
#include "store/meta.h"
#include "store/queue_log.h"

struct count_list {
    VEC(struct store_count) items;
};

static void take_count(void *ctx, const struct store_count *c)
{
    struct count_list *list = ctx;

    if (c->n != 0)
        VEC_PUSH(&list->items, *c);
}

/* {"ready":1,…} */
static void add_states(struct buf *b, const int64_t n[JOB_STATE_COUNT])
{
    buf_add_char(b, '{');
    for (unsigned s = JOB_STAGED; s < JOB_STATE_COUNT; s++) {
        jtext_add_key(b, job_state_name((enum job_state)s));
        buf_add_int(b, n[s]);
    }
    buf_add_char(b, '}');
}

/* Index of a queue's first count: they are in the order of queues. */
static size_t first_of(const struct count_list *list, int64_t queue)
{
    size_t low = 0;
    size_t high = list->items.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (list->items.items[middle].queue < queue)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_counts(struct buf *b, const struct count_list *list, int64_t queue)
{
    int64_t n[JOB_STATE_COUNT] = {0};

    for (size_t i = first_of(list, queue);
         i < list->items.count && list->items.items[i].queue == queue; i++)
        n[list->items.items[i].state] += list->items.items[i].n;
    add_states(b, n);
}

static void add_broken(struct buf *b, const struct broken_queue *broken)
{
    if (broken == NULL)
        return;
    jtext_add_key(b, "broken");
    buf_add_char(b, '[');
    for (; broken != NULL; broken = broken->next) {
        jtext_add_comma(b);
        buf_add_char(b, '{');
        jtext_put_string(b, "worker", broken->worker->name);
        jtext_put_string(b, "host", worker_place(broken->worker));
        jtext_put_string(b, "text", broken->text);
        buf_add_char(b, '}');
    }
    buf_add_char(b, ']');
}

/* "why":{"text","at"}: who or what has set its state. */
static void add_why(void *ctx, const struct queue_log_line *line)
{
    struct buf *b = ctx;

    jtext_add_key(b, "why");
    buf_add_char(b, '{');
    jtext_put_string(b, "text", line->text);
    jtext_put_time(b, "at", line->at);
    buf_add_char(b, '}');
}

static enum err_code add_queue(struct query_view *v, struct buf *b, const struct stored_queue *q,
                               const struct count_list *counts, struct err *err)
{
    struct slice filters;
    int64_t next = 0;

    if (store_queue_next_ready(v->store, q->id, &next, err) != E_OK)
        return err->code;
    buf_add_char(b, '{');
    jtext_put_string(b, "name", q->name);
    jtext_put_string(b, "state", slice_of(queue_state_name(q->state)));
    if (q->state != QUEUE_UP &&
        store_queue_log_newest(v->store, q->id, slice_of(queue_state_name(q->state)), add_why, b,
                               err) != E_OK)
        return err->code;
    jtext_put_bool(b, "served", view_is_served(v, q->name));
    add_broken(b, view_broken(v, q->name));
    jtext_add_key(b, "counts");
    add_counts(b, counts, q->id);
    if (next != 0) {
        jtext_add_id(b, "next", next);
        jtext_put_time(b, "next_created_at", id_time(next));
    }
    jtext_put_time(b, "changed_at", q->changed_at);
    jtext_put_int(b, "restarts", q->restarts);
    jtext_put_raw(b, "definition", q->definition);
    if (jtext_find(q->definition, "filters", &filters) &&
        view_add_filters(v, b, q->id, err) != E_OK)
        return err->code;
    buf_add_char(b, '}');
    return E_OK;
}

enum err_code query_queues(struct query_view *v, struct query *q, struct err *err)
{
    struct count_list counts = {.items = VEC_INIT};
    int64_t definitions = 0;
    enum err_code code = store_definitions_get(v->store, &definitions, err);

    if (code == E_OK)
        code = store_counts_load(v->store, take_count, &counts, err);
    buf_addf(&q->reply, "{\"definitions\":%lld,\"queues\":[", (long long)definitions);
    for (size_t i = 0; i < v->queues.count && code == E_OK; i++) {
        jtext_add_comma(&q->reply);
        code = add_queue(v, &q->reply, &v->queues.items[i], &counts, err);
    }
    buf_add_str(&q->reply, "]}");
    VEC_DEINIT(&counts.items);
    return code;
}

enum err_code query_queue(struct query_view *v, struct query *q, struct err *err)
{
    const struct stored_queue *queue = view_queue_named(v, q->name);
    struct count_list counts = {.items = VEC_INIT};

    if (queue == NULL)
        return view_queue_unknown(v, q->name, E_NOT_FOUND, err);
    enum err_code code = store_counts_load(v->store, take_count, &counts, err);

    if (code == E_OK)
        code = add_queue(v, &q->reply, queue, &counts, err);
    VEC_DEINIT(&counts.items);
    return code;
}

static void add_line(void *ctx, const struct queue_log_line *line)
{
    struct buf *b = ctx;

    jtext_add_comma(b);
    buf_add_char(b, '{');
    jtext_put_time(b, "at", line->at);
    jtext_put_string(b, "what", line->what);
    jtext_put_string(b, "text", line->text);
    buf_add_char(b, '}');
}

enum err_code query_queue_log(struct query_view *v, struct query *q, struct err *err)
{
    const struct stored_queue *queue = view_queue_named(v, q->name);

    if (queue == NULL)
        return view_queue_unknown(v, q->name, E_NOT_FOUND, err);
    buf_add_str(&q->reply, "{\"log\":[");
    if (store_queue_log_read(v->store, queue->id, q->limit, add_line, &q->reply, err) != E_OK)
        return err->code;
    buf_add_str(&q->reply, "]}");
    return E_OK;
}

enum err_code query_counts(struct query_view *v, struct query *q, struct err *err)
{
    struct count_list counts = {.items = VEC_INIT};
    enum err_code code = store_counts_load(v->store, take_count, &counts, err);
    int64_t all[JOB_STATE_COUNT] = {0};

    for (size_t i = 0; i < counts.items.count; i++)
        all[counts.items.items[i].state] += counts.items.items[i].n;
    buf_add_str(&q->reply, "{\"counts\":{");
    for (size_t i = 0; i < v->queues.count; i++) {
        jtext_add_comma(&q->reply);
        jtext_add_string(&q->reply, v->queues.items[i].name);
        buf_add_char(&q->reply, ':');
        add_counts(&q->reply, &counts, v->queues.items[i].id);
    }
    buf_add_str(&q->reply, "},\"states\":");
    add_states(&q->reply, all);
    buf_add_char(&q->reply, '}');
    VEC_DEINIT(&counts.items);
    return code;
}
