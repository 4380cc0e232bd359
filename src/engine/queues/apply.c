/*
 * Apply: a set of definitions is put as a whole, or refused.
 *
 * All is judged before anything is written: with `prune` what the set does not name goes, and whatever cannot go
 * refuses the request.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/json/json.h"
#include "core/object/quote.h"
#include "engine/engine_internal.h"
#include "engine/links/links.h"
#include "store/links/links.h"

static bool is_put(const struct queue_put *puts, size_t n, struct slice name)
{
    for (size_t i = 0; i < n; i++)
        if (slice_equal(puts[i].name, name))
            return true;
    return false;
}

bool apply_puts_queue(const struct queue_op *o, struct slice name)
{
    return is_put(o->puts, o->n_puts, name);
}

bool apply_puts_join(const struct queue_op *o, struct slice name)
{
    return is_put(o->joins, o->n_joins, name);
}

/* The built-in queue and those of workers come from no definition. */
bool apply_prunes_queue(const struct queue_op *o, const struct queue *q)
{
    return o->prune && !apply_puts_queue(o, slice_of(q->name)) &&
           strcmp(q->name, DEFAULT_QUEUE) != 0 && q->def.subscriber_worker.size == 0;
}

/* ---- joins that the set does not name ---- */

struct left_joins {
    const struct queue_op *op;
    struct arena *arena;
    VEC(struct stored_join) items;
};

static void left_joins_cleanup(struct left_joins *l)
{
    VEC_DEINIT(&l->items);
}

static void take_left(void *ctx, const struct stored_join *join)
{
    struct left_joins *l = ctx;

    if (!apply_puts_join(l->op, join->name))
        VEC_PUSH(&l->items,
                 ((struct stored_join){.id = join->id, .name = arena_copy(l->arena, join->name)}));
}

static enum err_code refuse_join(struct engine *e, const struct stored_join *join,
                                 struct err *refused, struct err *err)
{
    struct quote quote;
    int64_t keys = 0;

    if (store_arrivals_count(e->store, join->id, &keys, err) != E_OK)
        return err->code;
    if (keys > 0)
        err_set(refused, E_CONFLICT,
                "join %s has arrivals under %lld keys: clear them first ('waybill join clear')",
                quote_text(&quote, join->name), (long long)keys);
    return E_OK;
}

/* ---- judging ---- */

/* A worker's own queue follows its topic's. */
static void judge_puts(struct engine *e, struct op *op)
{
    for (size_t i = 0; i < op->queue.n_puts; i++) {
        const struct queue *q = queue_find(e, op->queue.puts[i].name);
        struct quote quotes[3];

        if (q == NULL || q->def.subscriber_worker.size == 0)
            continue;
        err_set(&op->err, E_CONFLICT,
                "queue %s belongs to worker %s, which is subscribed to topic %s: it is defined by "
                "the queue of that name",
                quote_text(&quotes[0], slice_of(q->name)),
                quote_text(&quotes[1], q->def.subscriber_worker),
                quote_text(&quotes[2], q->def.subscriber_topic));
        return;
    }
}

static enum err_code judge_prune(struct engine *e, struct op *op, const struct left_joins *left,
                                 struct err *err)
{
    for (size_t i = 0; i < e->queues.count && op->err.code == E_OK; i++)
        if (apply_prunes_queue(&op->queue, e->queues.items[i]) &&
            queue_refuse_removal(e, e->queues.items[i], &op->err, err) != E_OK)
            return err->code;
    for (size_t i = 0; i < left->items.count && op->err.code == E_OK; i++)
        if (refuse_join(e, &left->items.items[i], &op->err, err) != E_OK)
            return err->code;
    return E_OK;
}

static enum err_code judge(struct engine *e, struct op *op, const struct left_joins *left,
                           struct err *err)
{
    judge_puts(e, op);
    if (op->err.code == E_OK && judge_prune(e, op, left, err) != E_OK)
        return err->code;
    return op->err.code == E_OK ? dangling_judge(e, op, err) : E_OK;
}

/* ---- changing ---- */

static void add_change(struct op *op, const char *kind, struct slice name, const char *change)
{
    struct buf *b = &op->reply;

    json_add_comma(b);
    buf_addf(b, "{\"kind\":\"%s\",\"name\":", kind);
    json_add_string(b, name);
    json_put_string(b, "change", slice_of(change));
    buf_add_char(b, '}');
}

static enum err_code put_queue(struct engine *e, struct op *op, const struct queue_put *p,
                               struct err *err)
{
    struct queue *q = queue_find(e, p->name);
    bool same = q != NULL && slice_is(p->definition, q->json);

    add_change(op, "queue", p->name, q == NULL ? "added" : same ? "same" : "changed");
    if (same || op->queue.dry_run)
        return E_OK;
    if (q == NULL)
        op->status = 201;
    if ((q == NULL ? queue_make(e, p->name, p->definition, err)
                   : queue_redefine(e, q, p->definition, err)) != E_OK)
        return err->code;
    return subscribers_follow(e, queue_find(e, p->name), err);
}

static enum err_code put_join(struct engine *e, struct op *op, const struct queue_put *p,
                              struct err *err)
{
    const char *change = NULL;

    if (join_define(e, p, op->queue.dry_run, &change, err) != E_OK)
        return err->code;
    add_change(op, "join", p->name, change);
    return E_OK;
}

static enum err_code put_all(struct engine *e, struct op *op, struct err *err)
{
    for (size_t i = 0; i < op->queue.n_puts; i++)
        if (put_queue(e, op, &op->queue.puts[i], err) != E_OK)
            return err->code;
    for (size_t i = 0; i < op->queue.n_joins; i++)
        if (put_join(e, op, &op->queue.joins[i], err) != E_OK)
            return err->code;
    return E_OK;
}

static enum err_code prune(struct engine *e, struct op *op, const struct left_joins *left,
                           struct err *err)
{
    bool dry_run = op->queue.dry_run;

    for (size_t i = e->queues.count; i-- > 0;) {
        struct queue *q = e->queues.items[i];

        if (!apply_prunes_queue(&op->queue, q))
            continue;
        add_change(op, "queue", slice_of(q->name), "removed");
        if (!dry_run && queue_remove(e, q, err) != E_OK)
            return err->code;
    }
    for (size_t i = 0; i < left->items.count; i++) {
        const struct stored_join *join = &left->items.items[i];

        add_change(op, "join", join->name, "removed");
        if (!dry_run &&
            (engine_write(e, err) != E_OK || store_join_remove(e->store, join->id, err) != E_OK))
            return err->code;
    }
    return E_OK;
}

enum err_code apply_run(struct engine *e, struct op *op, struct err *err)
{
    CLEANUP(left_joins) struct left_joins left = {.op = &op->queue, .arena = &e->arena};

    op->queue.n_refusals = 0; /* it may have been judged before, in a batch that was rolled back */

    if (op->queue.prune &&
        store_joins_list(e->store, slice_make(NULL, 0), INT32_MAX, take_left, &left, err) != E_OK)
        return err->code;
    if (judge(e, op, &left, err) != E_OK)
        return err->code;
    if (op->err.code != E_OK)
        return E_OK;
    buf_add_str(&op->reply, "{\"changes\":[");
    if (put_all(e, op, err) != E_OK || prune(e, op, &left, err) != E_OK)
        return err->code;
    buf_add_str(&op->reply, op->queue.dry_run ? "],\"dry_run\":true}" : "],\"dry_run\":false}");
    return E_OK;
}
