/*
 * Subscribers: queues that belong to one worker each.
 *
 * Such a queue is called TOPIC@WORKER.  It has the definition of the queue with the topic's name,
 * if there is one, and follows its changes.  If its worker is not heard of for the lifetime of the
 * subscription, the queue goes down, which unsubscribes it; its live jobs are cancelled; and it is
 * removed once it holds no jobs.  Absent workers are looked for at most once an hour, and a worker
 * must be absent at two looks: after an outage of the server, or a step of its clock, workers need
 * time to reconnect.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/queues/subscribers.h"

#include <stdio.h>

#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "core/object/quote.h"
#include "engine/queues/change.h"
#include "engine/state.h"
#include "store/meta.h"
#include "store/queues.h"

#define LOOK_EVERY_US US_PER_HOUR
#define SEEN_LATE_US (3 * US_PER_MIN) /* longest silence of a worker that waits for jobs */

static bool is_subscriber(const struct queue *q)
{
    return q->def.subscriber_worker.size > 0;
}

bool subscribers_include(const struct engine *e, struct slice worker)
{
    for (size_t i = 0; i < e->queues.count; i++)
        if (is_subscriber(e->queues.items[i]) &&
            slice_equal(e->queues.items[i]->def.subscriber_worker, worker))
            return true;
    return false;
}

static size_t count_subscribers(const struct engine *e)
{
    size_t n = 0;

    for (size_t i = 0; i < e->queues.count; i++)
        n += is_subscriber(e->queues.items[i]);
    return n;
}

void subscribers_watch(struct engine *e)
{
    bool watched = e->sweep.subscribers_at != 0 && e->sweep.subscribers_at != TIME_NEVER;

    if (count_subscribers(e) == 0)
        e->sweep.subscribers_at = TIME_NEVER;
    else if (!watched)
        e->sweep.subscribers_at = e->now.wall_at + LOOK_EVERY_US;
}

/* ---- definitions ---- */

static struct slice definition_of(struct engine *e, const struct queue_subscriber *s)
{
    CLEANUP(buf) struct buf b = BUF_INIT(OP_REPLY_MAX);
    const struct queue *of_topic = queue_find(e, s->topic);

    queue_def_subscriber(slice_of(of_topic == NULL ? "" : of_topic->json), s, &b);
    return arena_copy(&e->batch.arena, buf_slice(&b));
}

enum err_code subscribers_follow(struct engine *e, const struct queue *q, struct err *err)
{
    struct slice topic = slice_of(q->name);

    for (size_t i = 0; i < e->queues.count; i++) {
        struct queue *own = e->queues.items[i];

        if (!is_subscriber(own) || !slice_equal(own->def.subscriber_topic, topic))
            continue;
        struct queue_subscriber s = {topic, own->def.subscriber_worker,
                                     own->def.subscriber_lifetime_us};
        struct slice definition = definition_of(e, &s);

        if (!slice_is(definition, own->json) && queue_redefine(e, own, definition, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* ---- subscribing ---- */

static void judge(struct engine *e, struct op *op, struct slice name, struct slice definition)
{
    const struct queue *q = queue_find(e, name);
    struct queue_def def;
    struct quote quote;

    if (queue_name_check(name, &op->err) != E_OK ||
        queue_def_parse_stored(definition, &e->batch.arena, &def, &op->err) != E_OK)
        (void)err_wrap(&op->err, "queue %s", quote_text(&quote, name));
    else if (q != NULL && !is_subscriber(q))
        err_set(&op->err, E_CONFLICT, "queue %s exists already and belongs to no worker",
                quote_text(&quote, name));
    else if (q != NULL && !slice_equal(q->def.subscriber_topic, op->subscribe.topic))
        err_set(&op->err, E_CONFLICT, "queue %s exists already, for another worker and topic",
                quote_text(&quote, name));
    else if (q == NULL && count_subscribers(e) >= e->config.subscriptions_max)
        err_set(&op->err, E_TOO_MANY,
                "there are %u subscriptions already, the maximum of server.subscriptions: "
                "remove queues that nobody needs (waybill queue delete), or raise it",
                (unsigned)e->config.subscriptions_max);
}

/* Subscribes a worker that is back again. */
static enum err_code renew(struct engine *e, struct queue *q, struct slice definition,
                           struct err *err)
{
    if (!slice_is(definition, q->json) && queue_redefine(e, q, definition, err) != E_OK)
        return err->code;
    if (queue_state_takes(q->state))
        return E_OK;
    return queue_set_state(e, q, QUEUE_UP, "its worker is subscribed again", err);
}

enum err_code subscribe_run(struct engine *e, struct op *op, struct err *err)
{
    const struct subscribe *s = &op->subscribe;
    CLEANUP(buf) struct buf name = BUF_INIT(2 * QUEUE_NAME_MAX + 2 * TOPIC_NAME_MAX);

    buf_add_slice(&name, s->topic);
    buf_add_char(&name, '@');
    buf_add_slice(&name, s->worker);
    struct queue_subscriber own = {s->topic, s->worker, s->lifetime_us};
    struct slice definition = definition_of(e, &own);
    struct queue *q = queue_find(e, buf_slice(&name));

    judge(e, op, buf_slice(&name), definition);
    if (op->err.code != E_OK)
        return E_OK;

    op->status = q == NULL ? 201 : 200;
    if (worker_heard(e, s->worker, err) != E_OK ||
        (q == NULL ? queue_make(e, buf_slice(&name), definition, err)
                   : renew(e, q, definition, err)) != E_OK)
        return err->code;
    subscribers_watch(e);
    buf_add_str(&op->reply, "{\"queue\":");
    jtext_add_string(&op->reply, buf_slice(&name));
    buf_add_char(&op->reply, '}');
    return E_OK;
}

/* ---- those whose worker is away ---- */

struct absence {
    struct queue *queue;
    int64_t seen_at; /* its worker; an unknown one: when the queue was made */
    int64_t live;    /* jobs that have not ended */
};

struct absences {
    VEC(struct absence) items;
};

static void absences_cleanup(struct absences *a)
{
    VEC_DEINIT(&a->items);
}

static void take_worker(void *ctx, const struct stored_worker *row)
{
    struct absences *a = ctx;

    for (size_t i = 0; i < a->items.count; i++)
        if (slice_equal(a->items.items[i].queue->def.subscriber_worker, row->name))
            a->items.items[i].seen_at = row->seen_at;
}

static void take_count(void *ctx, const struct store_count *count)
{
    struct absences *a = ctx;

    for (size_t i = 0; i < a->items.count; i++)
        if (a->items.items[i].queue->id == count->queue && !job_state_ended(count->state))
            a->items.items[i].live += count->n;
}

static int64_t ends_at(const struct absence *a)
{
    return a->seen_at + a->queue->def.subscriber_lifetime_us + SEEN_LATE_US;
}

/* Whether its worker has been absent for too long, at this look and at the one before. */
static bool is_over(struct engine *e, const struct absence *a)
{
    struct queue *q = a->queue;

    if (ends_at(a) > e->now.wall_at)
        q->worker_absent_at = 0;
    else if (q->worker_absent_at == 0)
        q->worker_absent_at = e->now.steady_at;
    return q->worker_absent_at != 0 && e->now.steady_at - q->worker_absent_at >= LOOK_EVERY_US / 2;
}

static enum err_code shut(struct engine *e, const struct absence *a, struct err *err)
{
    char lifetime[DURATION_TEXT_SIZE];
    struct quote quote;
    char why[200];

    if (a->queue->state == QUEUE_DOWN)
        return E_OK;
    snprintf(why, sizeof(why), "worker %s was not heard of for %s: unsubscribed",
             quote_text(&quote, a->queue->def.subscriber_worker),
             duration_format(a->queue->def.subscriber_lifetime_us, lifetime));
    log_info("queue %s: %s", a->queue->name, why);
    return queue_set_state(e, a->queue, QUEUE_DOWN, why, err);
}

/* Cancels its live jobs; removes the queue once it is empty. */
static enum err_code clear(struct engine *e, const struct absence *a, struct err *err)
{
    struct bulk cancel = {.kind = ACTION_CANCEL, .filter = {.queue = slice_of(a->queue->name)}};
    int64_t work;
    int64_t n = 0;

    if (a->live > 0)
        return bulk_begin(e, &cancel, &work, err);
    if (queue_count_jobs(e, a->queue, &n, err) != E_OK)
        return err->code;
    if (n > 0)
        return E_OK;
    log_info("queue %s: removed, its worker is gone", a->queue->name);
    return queue_remove(e, a->queue, err);
}

enum err_code subscribers_expire(struct engine *e, struct err *err)
{
    CLEANUP(absences) struct absences away = {.items = {0}};
    int64_t next_at = TIME_NEVER;

    for (size_t i = 0; i < e->queues.count; i++)
        if (is_subscriber(e->queues.items[i]))
            VEC_PUSH(&away.items, ((struct absence){.queue = e->queues.items[i],
                                                    .seen_at = e->queues.items[i]->changed_at}));
    if (store_workers_load(e->store, take_worker, &away, err) != E_OK ||
        store_counts_load(e->store, take_count, &away, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < away.items.count; i++) {
        const struct absence *a = &away.items.items[i];

        if (ends_at(a) < next_at)
            next_at = ends_at(a);
        if (is_over(e, a) && (shut(e, a, err) != E_OK || clear(e, a, err) != E_OK))
            return err->code;
    }
    e->sweep.subscribers_at = next_at > e->now.wall_at + LOOK_EVERY_US
                                  ? next_at
                                  : e->now.wall_at + LOOK_EVERY_US;
    subscribers_watch(e);
    return E_OK;
}
