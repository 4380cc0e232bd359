/*
 * Topics: publishing creates a job in each subscribed queue.
 *
 * A queue is subscribed to the topic of its own name and to those in its definition; the queue of a
 * subscribed worker to its one topic, while the queue accepts jobs.  Subscriptions are looked up in
 * memory.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/followups/topic.h"

#include <string.h>

#include "core/object/quote.h"
#include "engine/followups/chain.h"
#include "engine/followups/spread.h"
#include "engine/jobs/keys.h"
#include "engine/jobs/submit.h"
#include "engine/state.h"
#include "store/shared.h"

/* ---- subscriptions ---- */

static bool is_subscribed(const struct queue *q, struct slice topic)
{
    if (q->def.subscriber_worker.size > 0)
        return queue_state_takes(q->state) && topic_matches(q->def.subscriber_topic, topic);
    if (slice_is(topic, q->name))
        return true;
    for (size_t i = 0; i < q->def.n_subscribe; i++)
        if (topic_matches(q->def.subscribe[i], topic))
            return true;
    return false;
}

size_t topic_count(const struct engine *e, struct slice topic)
{
    size_t n = 0;

    for (size_t i = 0; i < e->queues.count; i++)
        n += is_subscribed(e->queues.items[i], topic);
    return n;
}

/* Lists the subscribed queues; their jobs get ids later. */
static size_t subscribed(struct engine *e, struct slice topic, struct spread_target **ret_targets)
{
    size_t n = topic_count(e, topic);
    struct spread_target *targets = arena_array(&e->batch.arena, n + 1, sizeof(*targets));
    size_t at = 0;

    for (size_t i = 0; i < e->queues.count && at < n; i++)
        if (is_subscribed(e->queues.items[i], topic))
            targets[at++].queue = e->queues.items[i]->id;
    *ret_targets = targets;
    return n;
}

/* ---- publishing by the end of a job ---- */

enum err_code topic_publish(struct engine *e, struct slice topic, const struct chain_source *source,
                            size_t *ret_n, struct err *err)
{
    struct spread_target *targets = NULL;
    size_t n = subscribed(e, topic, &targets);
    struct routing routing = {
        .parent = source->job, .depth = source->depth, .topic = topic, .group = source->group};
    struct stored_spread spread = {.chained = true,
                                   .params = source->params,
                                   .labels = source->labels,
                                   .priority = source->priority,
                                   .routing = routing_format(&routing, &e->batch.arena),
                                   .targets = targets,
                                   .n_targets = n};

    for (size_t i = 0; i < n; i++)
        targets[i].job = engine_new_id(e);
    *ret_n = n;
    bool never; /* it has no key */

    return n == 0 ? E_OK : spread_make(e, &spread, &never, err);
}

/* ---- items for subscribers ---- */

struct slice topic_key(struct engine *e, struct slice key, const struct queue *q)
{
    size_t name = strlen(q->name);

    if (key.size == 0)
        return key;
    char *text = arena_alloc(&e->batch.arena, key.size + 1 + name);

    memcpy(text, key.data, key.size);
    text[key.size] = '/';
    memcpy(text + key.size + 1, q->name, name);
    return slice_make(text, key.size + 1 + name);
}

static struct routing routing_for(const struct submit_item *item)
{
    struct routing routing = {0};

    if (item->routing != NULL)
        routing = *item->routing;
    routing.topic = item->topic;
    return routing;
}

/* A copy of the item for one queue; all copies share `routing`. */
static struct submit_item item_for(struct engine *e, const struct submit_item *item,
                                   const struct routing *routing, int64_t queue)
{
    const struct queue *q = queue_by_id(e, queue);
    struct submit_item own = *item;

    own.queue = slice_of(q->name);
    own.key = topic_key(e, item->key, q);
    own.routing = routing;
    own.topic = slice_make(NULL, 0);
    return own;
}

static void refuse_nobody(struct slice topic, enum err_code code, struct err *refused)
{
    struct quote quote;

    err_set(refused, code, "nobody is subscribed to topic %s", quote_text(&quote, topic));
}

/* ---- publishing by a running job ---- */

size_t topic_place(const struct topic_list *list, size_t i)
{
    return list->from == NULL ? i : list->from[i];
}

struct fanout topic_cost(const struct engine *e, const struct submit_item *items, size_t n)
{
    struct fanout cost = {.rows = 0};
    struct slice topic = {0};
    size_t subscribers = 0;

    for (size_t i = 0; i < n; i++) {
        const struct submit_item *item = &items[i];

        if (item->topic.size == 0) {
            cost.rows++;
            continue;
        }
        if (!slice_equal(item->topic, topic))
            subscribers = topic_count(e, item->topic);
        topic = item->topic;
        cost.rows += subscribers;
        cost.bytes += subscribers * (item->labels.size + item->options.size +
                                     (item->routing == NULL ? 0 : routing_size(item->routing)));
    }
    return cost;
}

bool topic_is_too_much(const struct fanout *cost, struct err *refused)
{
    if (cost->rows > OP_ITEMS_MAX)
        err_set(
            refused, E_TOO_LARGE,
            "with one job for each subscriber %zu jobs would be emitted, at most %d are allowed",
            cost->rows, OP_ITEMS_MAX);
    else if (cost->bytes > FANOUT_BYTES)
        err_set(refused, E_TOO_LARGE,
                "labels, options and steps are stored for each subscriber: they would take %zu "
                "bytes, at most %zu MiB are allowed",
                cost->bytes, FANOUT_BYTES >> 20);
    return refused->code != E_OK;
}

struct expansion {
    VEC(struct submit_item) firsts; /* one for each given item */
    VEC(struct submit_item) others;
    VEC(size_t) from; /* of the others */
};

static void expansion_cleanup(struct expansion *x)
{
    VEC_DEINIT(&x->firsts);
    VEC_DEINIT(&x->others);
    VEC_DEINIT(&x->from);
}

static enum err_code expand_one(struct engine *e, const struct submit_item *item, size_t place,
                                struct expansion *x, struct err *refused)
{
    struct spread_target *targets = NULL;
    size_t n = subscribed(e, item->topic, &targets);
    struct routing *routing = arena_alloc(&e->batch.arena, sizeof(*routing));

    if (n == 0) {
        refuse_nobody(item->topic, E_INVALID, refused);
        return refused->code;
    }
    *routing = routing_for(item);
    VEC_PUSH(&x->firsts, item_for(e, item, routing, targets[0].queue));
    for (size_t i = 1; i < n; i++) {
        struct submit_item own = item_for(e, item, routing, targets[i].queue);

        own.ref = slice_make(NULL, 0); /* it refers to the first one */
        VEC_PUSH(&x->others, own);
        VEC_PUSH(&x->from, place);
    }
    return E_OK;
}

static void list_all(struct engine *e, const struct expansion *x, struct topic_list *ret_list)
{
    size_t n = x->firsts.count + x->others.count;
    struct submit_item *items = arena_array(&e->batch.arena, n, sizeof(*items));
    size_t *from = arena_array(&e->batch.arena, n, sizeof(*from));

    for (size_t i = 0; i < n; i++) {
        bool first = i < x->firsts.count;

        items[i] = first ? x->firsts.items[i] : x->others.items[i - x->firsts.count];
        from[i] = first ? i : x->from.items[i - x->firsts.count];
    }
    *ret_list = (struct topic_list){items, n, from};
}

bool topic_expand(struct engine *e, const struct submit_item *items, size_t n,
                  struct topic_list *ret_list, size_t *ret_bad, struct err *refused)
{
    CLEANUP(expansion) struct expansion x = {.firsts = {0}};
    bool any = false;

    for (size_t i = 0; i < n && !any; i++) {
        any = items[i].topic.size > 0;
        *ret_bad = i;
    }
    *ret_list = (struct topic_list){items, n, NULL};
    if (any) {
        struct fanout cost = topic_cost(e, items, n);

        if (topic_is_too_much(&cost, refused))
            return false;
    }
    for (size_t i = 0; i < n && any; i++) {
        *ret_bad = i;
        if (items[i].topic.size == 0)
            VEC_PUSH(&x.firsts, items[i]);
        else if (expand_one(e, &items[i], i, &x, refused) != E_OK)
            return false;
    }
    if (any)
        list_all(e, &x, ret_list);
    return true;
}

/* ---- publishing by request ---- */

/* A batch may have many publications with many targets each: a target must be small. */
struct publishing {
    struct submit_item item; /* of all jobs, except queue and key */
    struct routing routing;
    struct spread_target *targets;
    size_t n;
    bool known; /* it was published before under this key */
};

/* An earlier publication is found by its row while it is unfinished, later by the keys of its jobs.
 * The row is looked up first: the commit that creates the last job removes it. */
static enum err_code judge_spread(struct engine *e, const struct publish *x, struct publishing *p,
                                  struct err *refused, struct err *err)
{
    struct stored_spread spread = {.id = 0};

    if (spread_of_key(e, x->key, &spread, err) != E_OK)
        return err->code;
    if (spread.id == 0)
        return E_OK;
    p->known = true;
    p->n = spread.n_targets;
    p->targets = arena_array(&e->batch.arena, p->n, sizeof(*p->targets));
    for (size_t i = 0; i < p->n; i++)
        p->targets[i] = spread.targets[i];
    if (spread.content != x->content)
        err_set(refused, E_CONFLICT,
                "the key '%.*s' belongs to a publication that has other content",
                (int)(x->key.size > 60 ? 60 : x->key.size), x->key.data);
    return E_OK;
}

/* One commit decides all jobs: if one of the keys exists, the publication is known. */
static enum err_code judge_keys(struct engine *e, struct publishing *p, struct err *refused,
                                struct err *err)
{
    struct submit_item item = p->item;

    if (keys_open(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < p->n; i++)
        keys_want(e, topic_key(e, p->item.key, queue_by_id(e, p->targets[i].queue)), 0, 0);
    if (keys_look(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < p->n && refused->code == E_OK; i++) {
        struct plan plan = {.id = 0};

        item.key = topic_key(e, p->item.key, queue_by_id(e, p->targets[i].queue));
        submit_judge_key(e, &item, &plan);
        p->targets[i].job = plan.id;
        p->known = p->known || plan.known;
        *refused = plan.refused;
    }
    return E_OK;
}

static enum err_code judge_known(struct engine *e, const struct publish *x, struct publishing *p,
                                 struct err *refused, struct err *err)
{
    p->known = false;
    if (judge_spread(e, x, p, refused, err) != E_OK)
        return err->code;
    return p->known ? E_OK : judge_keys(e, p, refused, err);
}

static bool is_known_in_part(const struct publishing *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n; i++)
        n += p->targets[i].job != 0;
    return n > 0 && n < p->n;
}

/* If one queue refuses its job the publication is refused, so that no subscriber is left out
 * unnoticed. */
static enum err_code judge_queues(struct engine *e, struct publishing *p, struct err *refused,
                                  struct err *err)
{
    for (size_t i = 0; i < p->n; i++) {
        struct submit_item item = item_for(e, &p->item, &p->routing, p->targets[i].queue);
        struct plan plan = {.id = 0};
        struct quote quote;

        if (submit_judge(e, &item, SUBMIT_KEYS_LATER, &plan, err) != E_OK)
            return err->code;
        if (plan.refused.code == E_OK)
            continue;
        *refused = plan.refused;
        (void)err_wrap(refused, "subscribed queue %s", quote_text(&quote, item.queue));
        return E_OK;
    }
    return E_OK;
}

/* Finds out whether the publication is known, or else refuses what cannot be published. */
static enum err_code judge(struct engine *e, const struct publish *x, struct publishing *p,
                           struct err *refused, struct err *err)
{
    if (x->key.size > 0 && judge_known(e, x, p, refused, err) != E_OK)
        return err->code;
    /* Another server may have published it after the row was looked up: by now the row exists, or
     * all of the keys. */
    if (must_ask_store(e) && refused->code == E_OK && is_known_in_part(p) &&
        judge_known(e, x, p, refused, err) != E_OK)
        return err->code;
    if (refused->code != E_OK || p->known)
        return E_OK;
    if (p->n > 0)
        return judge_queues(e, p, refused, err);
    refuse_nobody(x->topic, E_NOT_FOUND, refused);
    return E_OK;
}

static enum err_code make_all(struct engine *e, const struct publish *x, struct publishing *p,
                              bool *ret_lost, struct err *err)
{
    struct stored_spread spread = {.key = x->key,
                                   .content = x->content,
                                   .params = x->params,
                                   .body = x->body,
                                   .labels = x->labels,
                                   .priority = x->priority,
                                   .routing = routing_format(&p->routing, &e->batch.arena),
                                   .targets = p->targets,
                                   .n_targets = p->n};

    for (size_t i = 0; i < p->n; i++)
        p->targets[i].job = engine_new_id(e);
    return spread_make(e, &spread, ret_lost, err);
}

static void add_reply(struct op *op, const struct publishing *p)
{
    op->status = p->known ? 200 : 202;
    buf_add_str(&op->reply, "{\"ids\":[");
    for (size_t i = 0; i < p->n; i++)
        if (p->targets[i].job != 0)
            submit_add_id(&op->reply, p->targets[i].job);
    buf_add_str(&op->reply, "]}");
}

/* After losing to another server the publication is known, unless its jobs are removed already:
 * then it is tried again, this often. */
enum { LOST_MAX = 5 };

enum err_code publish_run(struct engine *e, struct op *op, struct err *err)
{
    const struct publish *x = &op->publish;
    struct publishing p = {.item = {.topic = x->topic,
                                    .params = x->params,
                                    .body = x->body,
                                    .labels = x->labels,
                                    .priority = x->priority,
                                    .key = x->key,
                                    .content = x->content}};
    bool lost = true;

    p.routing = routing_for(&p.item);
    for (int tries = 0; lost; tries++) {
        lost = false;
        p.n = subscribed(e, x->topic, &p.targets);
        if (judge(e, x, &p, &op->err, err) != E_OK)
            return err->code;
        if (op->err.code != E_OK)
            return E_OK;
        if (!p.known && make_all(e, x, &p, &lost, err) != E_OK)
            return err->code;
        if (lost && tries == LOST_MAX)
            return store_give_way(e->store, err);
    }
    add_reply(op, &p);
    return E_OK;
}
