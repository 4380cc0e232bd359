/*
 * What the filters of a queue have dropped, as people see it.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/filter/filter_def.h"
#include "engine/filters/drops.h"
#include "engine/reads/internal.h"
#include "engine/reads/job_json.h"

static void add_count(void *ctx, const struct filter_count *c)
{
    struct buf *b = ctx;

    if (c->what == FILTER_COUNT_KEYS || c->what > FILTER_KINDS)
        return;
    jtext_add_key(b, filter_kind_name((enum filter_kind)(c->what - 1)));
    buf_add_int(b, c->n);
}

static void add_keys(void *ctx, const struct filter_count *c)
{
    if (c->what == FILTER_COUNT_KEYS)
        *(int64_t *)ctx = c->n;
}

enum err_code view_add_filters(struct query_view *v, struct buf *b, int64_t queue, struct err *err)
{
    int64_t keys = 0;

    jtext_add_key(b, "dropped");
    buf_add_char(b, '{');
    if (store_filter_counts_load(v->store, queue, add_count, b, err) != E_OK ||
        store_filter_counts_load(v->store, queue, add_keys, &keys, err) != E_OK)
        return err->code;
    buf_add_char(b, '}');
    jtext_put_int(b, "keys_kept", keys);
    return E_OK;
}

static void add_drop(void *ctx, const struct stored_drop *d)
{
    struct buf *b = ctx;

    jtext_add_comma(b);
    buf_add_char(b, '{');
    jtext_put_time(b, "at", id_time(d->id));
    jtext_put_string(b, "filter",
                     slice_of(d->filter >= 1 && d->filter <= FILTER_KINDS
                                  ? filter_kind_name((enum filter_kind)(d->filter - 1))
                                  : "?"));
    jtext_put_string(b, "text", d->text);
    if (d->job != 0)
        jtext_add_id(b, "job", d->job);
    else
        jtext_put_raw(b, "job", SLICE("null"));
    buf_add_char(b, '}');
}

enum err_code query_drops(struct query_view *v, struct query *q, struct err *err)
{
    const struct stored_queue *queue = view_queue_named(v, q->name);

    if (queue == NULL)
        return view_queue_unknown(v, q->name, E_NOT_FOUND, err);
    buf_add_char(&q->reply, '{');
    if (view_add_filters(v, &q->reply, queue->id, err) != E_OK)
        return err->code;
    buf_add_str(&q->reply, ",\"drops\":[");
    if (store_drops_load(v->store, queue->id, add_drop, &q->reply, err) != E_OK)
        return err->code;
    buf_add_str(&q->reply, "]}");
    return E_OK;
}
