/*
 * Topics: a job in each subscribed queue.
 *
 * A queue is subscribed to the topic of its own name and to what its definition names; a worker's own queue to its
 * topic alone, while it takes jobs. Who is subscribed is read off the queues in memory.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/quote.h"
#include "engine/engine_internal.h"
#include "engine/links.h"
#include "engine/submit.h"

/* ---- who is subscribed ---- */

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

static size_t subscribed(struct engine *e, struct slice topic, struct queue ***ret_queues)
{
    struct queue **queues = arena_array(&e->arena, e->queues.count + 1, sizeof(*queues));
    size_t n = 0;

    for (size_t i = 0; i < e->queues.count; i++)
        if (is_subscribed(e->queues.items[i], topic))
            queues[n++] = e->queues.items[i];
    *ret_queues = queues;
    return n;
}

/* ---- by the end of a job ---- */

enum err_code topic_publish(struct engine *e, struct slice topic, const struct chain_source *source,
                            size_t *ret_n, struct err *err)
{
    struct queue **queues = NULL;
    size_t n = subscribed(e, topic, &queues);
    struct spread_target *targets = arena_array(&e->arena, n + 1, sizeof(*targets));
    struct bill bill = {.parent = source->job, .depth = source->depth, .topic = topic};
    struct stored_spread spread = {.chained = true,
                                   .params = source->params,
                                   .labels = source->labels,
                                   .priority = source->priority,
                                   .bill = bill_format(&bill, &e->arena),
                                   .targets = targets,
                                   .n_targets = n};

    for (size_t i = 0; i < n; i++)
        targets[i] = (struct spread_target){queues[i]->id, engine_new_id(e)};
    *ret_n = n;
    return n == 0 ? E_OK : spread_make(e, &spread, err);
}

/* ---- as items ---- */

struct slice topic_key(struct engine *e, struct slice key, const struct queue *q)
{
    size_t name = strlen(q->name);

    if (key.size == 0)
        return key;
    char *text = arena_alloc(&e->arena, key.size + 1 + name);

    memcpy(text, key.data, key.size);
    text[key.size] = '/';
    memcpy(text + key.size + 1, q->name, name);
    return slice_make(text, key.size + 1 + name);
}

static struct slice bill_for(struct engine *e, const struct submit_item *item)
{
    struct bill bill = {.topic = item->topic};

    if (item->bill.size > 0)
        bill_parse(item->bill, &e->arena, &bill);
    bill.topic = item->topic;
    return bill_format(&bill, &e->arena);
}

/* One item for each subscribed queue. */
static size_t items_for(struct engine *e, const struct submit_item *item,
                        struct submit_item **ret_items)
{
    struct queue **queues = NULL;
    size_t n = subscribed(e, item->topic, &queues);
    struct submit_item *items = arena_array(&e->arena, n + 1, sizeof(*items));
    struct slice bill = bill_for(e, item);

    for (size_t i = 0; i < n; i++) {
        items[i] = *item;
        items[i].queue = slice_of(queues[i]->name);
        items[i].key = topic_key(e, item->key, queues[i]);
        items[i].bill = bill;
        items[i].topic = slice_make(NULL, 0);
    }
    *ret_items = items;
    return n;
}

static void refuse_nobody(struct slice topic, enum err_code code, struct err *refused)
{
    struct quote quote;

    err_set(refused, code, "nobody is subscribed to topic %s", quote_text(&quote, topic));
}

/* ---- by a running job ---- */

size_t topic_place(const struct topic_list *list, size_t i)
{
    return list->from == NULL ? i : list->from[i];
}

struct expansion {
    VEC(struct submit_item) firsts; /* one for each that was there */
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
    struct submit_item *items = NULL;
    size_t n = items_for(e, item, &items);

    if (n == 0) {
        refuse_nobody(item->topic, E_INVALID, refused);
        return refused->code;
    }
    VEC_PUSH(&x->firsts, items[0]);
    for (size_t i = 1; i < n; i++) {
        items[i].ref = slice_make(NULL, 0); /* means the first one */
        VEC_PUSH(&x->others, items[i]);
        VEC_PUSH(&x->from, place);
    }
    if (x->firsts.count + x->others.count > OP_ITEMS_MAX)
        return err_set(refused, E_TOO_LARGE,
                       "with a job for each that is subscribed they are more than %d",
                       OP_ITEMS_MAX);
    return E_OK;
}

static void list_all(struct engine *e, const struct expansion *x, struct topic_list *ret_list)
{
    size_t n = x->firsts.count + x->others.count;
    struct submit_item *items = arena_array(&e->arena, n, sizeof(*items));
    size_t *from = arena_array(&e->arena, n, sizeof(*from));

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

    for (size_t i = 0; i < n; i++)
        any = any || items[i].topic.size > 0;
    *ret_list = (struct topic_list){items, n, NULL};
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

/* ---- by request ---- */

struct publishing {
    struct submit_item *items;
    struct plan *plans;
    size_t n;
    bool known; /* it was published before, under this key */
};

/* What it made is known by its keys, or by its row as long as that is worked off.  The row is looked for first: it goes
 * with the commit that makes the last of its jobs. */
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
    p->plans = arena_array(&e->arena, p->n, sizeof(*p->plans));
    for (size_t i = 0; i < p->n; i++)
        p->plans[i] = (struct plan){.id = spread.targets[i].job, .known = true};
    if (spread.content != x->content)
        err_set(refused, E_CONFLICT,
                "the key '%.*s' belongs to a publication that has other content",
                (int)(x->key.size > 60 ? 60 : x->key.size), x->key.data);
    return E_OK;
}

/* All are decided in one commit: if one is there, so are the others. */
static enum err_code judge_keys(struct engine *e, struct publishing *p, struct err *refused,
                                struct err *err)
{
    for (size_t i = 0; i < p->n; i++) {
        if (submit_judge_key(e, &p->items[i], &p->plans[i], err) != E_OK)
            return err->code;
        p->known = p->known || p->plans[i].known;
        if (p->plans[i].refused.code == E_OK)
            continue;
        *refused = p->plans[i].refused;
        return E_OK;
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
        n += p->plans[i].known;
    return n > 0 && n < p->n;
}

/* One that takes no such job refuses it for all: nobody is left out unnoticed. */
static enum err_code judge_queues(struct engine *e, struct publishing *p, struct err *refused,
                                  struct err *err)
{
    for (size_t i = 0; i < p->n; i++) {
        struct quote quote;

        if (submit_judge(e, &p->items[i], SUBMIT_KEYS_LATER, &p->plans[i], err) != E_OK)
            return err->code;
        if (p->plans[i].refused.code == E_OK)
            continue;
        *refused = p->plans[i].refused;
        (void)err_wrap(refused, "queue %s, which is subscribed",
                       quote_text(&quote, p->items[i].queue));
        return E_OK;
    }
    return E_OK;
}

/* Whether it is known, or can be: else it is refused. */
static enum err_code judge(struct engine *e, const struct publish *x, struct publishing *p,
                           struct err *refused, struct err *err)
{
    if (x->key.size > 0 && judge_known(e, x, p, refused, err) != E_OK)
        return err->code;
    /* Another server may have decided it after the row was looked for: now the row is there, or all of its keys. */
    if (e->shared && refused->code == E_OK && is_known_in_part(p) &&
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
                              struct err *err)
{
    struct spread_target *targets = arena_array(&e->arena, p->n, sizeof(*targets));
    struct stored_spread spread = {.key = x->key,
                                   .content = x->content,
                                   .params = x->params,
                                   .labels = x->labels,
                                   .priority = x->priority,
                                   .bill = p->items[0].bill,
                                   .targets = targets,
                                   .n_targets = p->n};

    for (size_t i = 0; i < p->n; i++) {
        p->plans[i].id = engine_new_id(e);
        targets[i] = (struct spread_target){p->plans[i].queue->id, p->plans[i].id};
    }
    return spread_make(e, &spread, err);
}

static void add_reply(struct op *op, const struct publishing *p)
{
    op->status = p->known ? 200 : 202;
    buf_add_str(&op->reply, "{\"ids\":[");
    for (size_t i = 0; i < p->n; i++)
        if (p->plans[i].id != 0)
            submit_add_id(&op->reply, p->plans[i].id);
    buf_add_str(&op->reply, "]}");
}

enum err_code publish_run(struct engine *e, struct op *op, struct err *err)
{
    const struct publish *x = &op->publish;
    struct submit_item item = {.topic = x->topic,
                               .params = x->params,
                               .labels = x->labels,
                               .priority = x->priority,
                               .key = x->key,
                               .content = x->content};
    struct publishing p = {.items = NULL};

    p.n = items_for(e, &item, &p.items);
    p.plans = arena_array(&e->arena, p.n + 1, sizeof(*p.plans));
    if (judge(e, x, &p, &op->err, err) != E_OK)
        return err->code;
    if (op->err.code != E_OK)
        return E_OK;
    if (!p.known && make_all(e, x, &p, err) != E_OK)
        return err->code;
    add_reply(op, &p);
    return E_OK;
}
