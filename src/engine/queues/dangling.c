/*
 * Names in definitions that would lead nowhere: judged before definitions come or go.
 *
 * Looked at is what will be after the request: what it puts in place of what is there, without what it removes.
 */
/* SPDX-License-Identifier: MIT */
#include "core/object/quote.h"
#include "core/route/join_chain.h"
#include "core/route/join_def.h"
#include "engine/engine_internal.h"
#include "engine/links/links.h"
#include "store/links/links.h"

/* ---- what will be there ---- */

/* A queue or a join, and where it leads. */
struct node {
    bool is_join;
    bool is_put; /* by this request */
    struct slice name;
    struct dest_list lists[2];
    const char *keys[2]; /* what those are called */
};

struct world {
    struct engine *e;
    struct op *asked;
    const struct queue_op *op; /* asked for */
    VEC(struct node) nodes;
    struct err *refused;
};

static void world_cleanup(struct world *w)
{
    VEC_DEINIT(&w->nodes);
}

static void add_queue(struct world *w, struct slice name, const struct queue_def *def, bool is_put)
{
    VEC_PUSH(&w->nodes, ((struct node){.name = name,
                                       .is_put = is_put,
                                       .lists = {def->on_success, def->on_failure},
                                       .keys = {"on_success", "on_failure"}}));
}

/* What cannot be read any more leads nowhere. */
static void add_join(struct world *w, struct slice name, struct slice definition, bool is_put)
{
    struct err ignored = ERR_INIT;
    struct join_def def;

    if (join_def_parse(definition, &w->e->arena, &def, NULL, &ignored) == E_OK)
        VEC_PUSH(&w->nodes, ((struct node){.name = name,
                                           .is_join = true,
                                           .is_put = is_put,
                                           .lists = {def.then},
                                           .keys = {"then", ""}}));
}

static bool removes(const struct world *w, const struct queue *q)
{
    return w->op->kind == QUEUE_OP_DELETE ? slice_is(w->op->name, q->name)
                                          : apply_prunes_queue(w->op, q);
}

/* A worker's own queue follows the one of its topic. */
static bool follows_another(const struct world *w, const struct queue *q)
{
    const struct queue *other = q->def.subscriber_worker.size == 0
                                    ? NULL
                                    : queue_find(w->e, q->def.subscriber_topic);

    return other != NULL && !removes(w, other);
}

static void take_join(void *ctx, const struct stored_join *join)
{
    struct world *w = ctx;

    if (!apply_puts_join(w->op, join->name) && !w->op->prune)
        add_join(w, arena_copy(&w->e->arena, join->name),
                 arena_copy(&w->e->arena, join->definition), false);
}

static enum err_code world_fill(struct world *w, struct err *err)
{
    const struct queue_op *o = w->op;

    for (size_t i = 0; i < w->e->queues.count; i++) {
        const struct queue *q = w->e->queues.items[i];

        if (!apply_puts_queue(o, slice_of(q->name)) && !removes(w, q) && !follows_another(w, q))
            add_queue(w, slice_of(q->name), &q->def, false);
    }
    for (size_t i = 0; i < o->n_puts; i++) {
        struct err ignored = ERR_INIT;
        struct queue_def def;

        if (queue_def_parse_stored(o->puts[i].definition, &w->e->arena, &def, &ignored) == E_OK)
            add_queue(w, o->puts[i].name, &def, true);
    }
    for (size_t i = 0; i < o->n_joins; i++)
        add_join(w, o->joins[i].name, o->joins[i].definition, true);
    return store_joins_list(w->e->store, slice_make(NULL, 0), INT32_MAX, take_join, w, err);
}

/* ---- names that are not there ---- */

static enum err_code find_join(struct engine *e, const struct queue_op *op, struct slice name,
                               bool *ret_found, struct err *err)
{
    struct stored_join join = {.id = 0};

    *ret_found = op != NULL && apply_puts_join(op, name);
    if (*ret_found)
        return E_OK;
    if (store_join_find(e->store, name, &e->arena, &join, err) != E_OK)
        return err->code;
    *ret_found = join.id != 0;
    return E_OK;
}

/* "there is no queue 'X', did you mean 'Y'?", the queues of the request included. */
static void refuse_queue(struct engine *e, const struct queue_op *op, struct slice name,
                         struct err *refused)
{
    size_t n = op == NULL ? 0 : op->n_puts;
    const char **names = arena_array(&e->arena, e->queues.count + n + 1, sizeof(*names));

    for (size_t i = 0; i < e->queues.count; i++)
        names[i] = e->queues.items[i]->name;
    for (size_t i = 0; i < n; i++)
        names[e->queues.count + i] = arena_strdup(&e->arena, op->puts[i].name);
    queue_name_unknown(name, names, e->queues.count + n, E_INVALID, refused);
}

static enum err_code check_dest(struct engine *e, const struct queue_op *op,
                                const struct dest *dest, struct err *refused, struct err *err)
{
    struct quote quote;
    bool found = true;

    switch (dest->kind) {
    case DEST_QUEUE:
        if (queue_find(e, dest->name) == NULL && (op == NULL || !apply_puts_queue(op, dest->name)))
            refuse_queue(e, op, dest->name, refused);
        return E_OK;
    case DEST_JOIN:
        if (find_join(e, op, dest->name, &found, err) != E_OK)
            return err->code;
        if (!found)
            err_set(refused, E_INVALID, "there is no join %s", quote_text(&quote, dest->name));
        return E_OK;
    case DEST_TOPIC: /* who is subscribed may come later */
    case DEST_SIGNAL: break;
    }
    return E_OK;
}

enum err_code chain_check_dests(struct engine *e, const struct queue_op *op,
                                const struct dest_list *dests, struct err *refused, struct err *err)
{
    for (size_t i = 0; i < dests->count; i++) {
        if (check_dest(e, op, &dests->items[i], refused, err) != E_OK)
            return err->code;
        if (refused->code == E_OK)
            continue;
        (void)err_wrap(refused, "[%zu]", i);
        return E_OK;
    }
    return E_OK;
}

static const char *kind_of(const struct node *n)
{
    return n->is_join ? "join" : "queue";
}

/* Refusals are gathered; the first is the op's. */
static void refuse(struct world *w, const struct err *refused)
{
    struct queue_op *o = &w->asked->queue;

    if (w->refused->code == E_OK)
        *w->refused = *refused;
    if (o->n_refusals == QUEUE_REFUSALS_MAX)
        return;
    if (o->n_refusals == 0)
        o->refusals = arena_array(&w->asked->arena, QUEUE_REFUSALS_MAX, sizeof(*o->refusals));
    o->refusals[o->n_refusals++] = *refused;
}

static enum err_code judge_list(struct world *w, const struct node *n, size_t list, struct err *err)
{
    for (size_t i = 0; i < n->lists[list].count; i++) {
        struct err refused = ERR_INIT;
        struct quote quote;

        if (check_dest(w->e, w->op, &n->lists[list].items[i], &refused, err) != E_OK)
            return err->code;
        if (refused.code == E_OK)
            continue;
        (void)err_wrap(&refused, "%s %s: %s[%zu]", kind_of(n), quote_text(&quote, n->name),
                       n->keys[list], i);
        refuse(w, &refused);
    }
    return E_OK;
}

static enum err_code judge_dests(struct world *w, struct err *err)
{
    for (size_t i = 0; i < w->nodes.count; i++) {
        const struct node *n = &w->nodes.items[i];

        for (size_t k = 0; k < ARRAY_LEN(n->lists) && n->is_put; k++)
            if (judge_list(w, n, k, err) != E_OK)
                return err->code;
    }
    return E_OK;
}

/* ---- names that others lead to ---- */

static bool leads_to(const struct node *n, enum dest_kind kind, struct slice name,
                     const char **ret_key)
{
    for (size_t k = 0; k < ARRAY_LEN(n->lists); k++)
        for (size_t i = 0; i < n->lists[k].count; i++)
            if (n->lists[k].items[i].kind == kind && slice_equal(n->lists[k].items[i].name, name)) {
                *ret_key = n->keys[k];
                return true;
            }
    return false;
}

static void judge_removal(struct world *w, enum dest_kind kind, struct slice name)
{
    for (size_t i = 0; i < w->nodes.count && w->refused->code == E_OK; i++) {
        const struct node *n = &w->nodes.items[i];
        struct quote quotes[2];
        const char *key = "";

        if (leads_to(n, kind, name, &key))
            err_set(w->refused, E_CONFLICT, "%s %s is where %s %s leads to, by its '%s'",
                    kind == DEST_JOIN ? "join" : "queue", quote_text(&quotes[0], name), kind_of(n),
                    quote_text(&quotes[1], n->name), key);
    }
}

static void take_pruned_join(void *ctx, const struct stored_join *join)
{
    struct world *w = ctx;

    if (!apply_puts_join(w->op, join->name))
        judge_removal(w, DEST_JOIN, join->name);
}

static enum err_code judge_removals(struct world *w, struct err *err)
{
    for (size_t i = 0; i < w->e->queues.count; i++)
        if (removes(w, w->e->queues.items[i]))
            judge_removal(w, DEST_QUEUE, slice_of(w->e->queues.items[i]->name));
    if (!w->op->prune)
        return E_OK;
    return store_joins_list(w->e->store, slice_make(NULL, 0), INT32_MAX, take_pruned_join, w, err);
}

/* ---- joins that lead to joins ---- */

static void judge_joins(struct world *w)
{
    struct join_node *nodes = arena_array(&w->e->arena, w->nodes.count + 1, sizeof(*nodes));
    size_t n = 0;
    size_t bad = 0;

    for (size_t i = 0; i < w->nodes.count; i++)
        if (w->nodes.items[i].is_join)
            nodes[n++] = (struct join_node){.name = w->nodes.items[i].name,
                                            .then = &w->nodes.items[i].lists[0]};
    (void)!join_chain_check(nodes, n, &bad, w->refused);
}

enum err_code dangling_judge(struct engine *e, struct op *op, struct err *err)
{
    CLEANUP(world) struct world w = {.e = e, .asked = op, .op = &op->queue, .refused = &op->err};

    if (world_fill(&w, err) != E_OK)
        return err->code;
    if (judge_removals(&w, err) != E_OK)
        return err->code;
    if (op->err.code == E_OK && judge_dests(&w, err) != E_OK)
        return err->code;
    if (op->err.code == E_OK && op->queue.n_joins > 0)
        judge_joins(&w);
    return E_OK;
}
