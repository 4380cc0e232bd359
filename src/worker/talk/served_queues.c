/* SPDX-License-Identifier: MIT */
#include "worker/talk/served_queues.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "base/text/nearest.h"
#include "worker/carriers/may_run.h"

#define BROKEN_FIRST_US (1 * US_PER_S)
#define BROKEN_CAP_US (1 * US_PER_MIN)
#define LATE_US (50 * SERVED_QUEUE_AHEAD_US)

enum { AHEAD_MAX = 250 };

static void served_queue_free(struct served_queue *q)
{
    free(q->name);
    free(q->json);
    free(q->broken);
    spawn_user_free(q->user);
    arena_deinit(&q->arena);
    free(q);
}

/* Names and topics are read anew with each update. */
static void forget_names(struct served_queues *all)
{
    for (size_t i = 0; i < all->names.count; i++)
        free(all->names.items[i]);
    for (size_t i = 0; i < all->topics.count; i++)
        free(all->topics.items[i]);
    VEC_CLEAR(&all->names);
    VEC_CLEAR(&all->topics);
}

void served_queues_deinit(struct served_queues *all)
{
    for (size_t i = 0; i < all->items.count; i++)
        served_queue_free(all->items.items[i]);
    forget_names(all);
    free(all->only_unserved);
    for (size_t i = 0; i < all->n_subscriptions; i++)
        free(all->subscriptions[i].queue);
    VEC_DEINIT(&all->items);
    VEC_DEINIT(&all->names);
    VEC_DEINIT(&all->topics);
}

static struct served_queue *find_any(const struct served_queues *all, struct slice name)
{
    for (size_t i = 0; i < all->items.count; i++)
        if (slice_is(name, all->items.items[i]->name))
            return all->items.items[i];
    return NULL;
}

struct served_queue *served_queues_find(const struct served_queues *all, struct slice name)
{
    struct served_queue *q = find_any(all, name);

    return q == NULL || q->gone ? NULL : q;
}

/* ---- an update ---- */

struct update {
    struct served_queues *served;
    served_queue_changed_fn *on_change;
    void *ctx;
};

static void redefine(struct served_queue *q, struct queue_reading *r)
{
    free(q->json);
    q->json = mem_strndup(r->json.data, r->json.size);
    q->def = r->def;
    q->command = r->command;
    arena_deinit(&q->arena);
    q->arena = r->arena;
    r->arena = ARENA_INIT;
    spawn_user_free(q->user);
    q->user = NULL;
    served_queue_mark_working(q);
}

static void serve_queue(struct update *u, struct slice name, struct slice server, int64_t restarts)
{
    struct queue_reading r;
    struct err err = ERR_INIT;

    if (may_run_queue(u->served, name, server, &r, &err) != E_OK) {
        if (err.code != E_NOT_FOUND)
            log_warn("queue %.*s: %s; it is not served here", (int)name.size, name.data, err.msg);
        return;
    }
    struct served_queue *q = find_any(u->served, name);
    bool is_new = q == NULL;

    if (is_new) {
        q = mem_zalloc(sizeof(*q));
        q->name = mem_strndup(name.data, name.size);
        VEC_PUSH(&u->served->items, q);
    }
    struct served_queue_change change = {.served = q,
                                         .restarted = !is_new && restarts != q->restarts,
                                         .redefined = !is_new && !slice_is(r.json, q->json)};

    q->gone = false;
    q->restarts = restarts;
    if (is_new || change.redefined)
        redefine(q, &r);
    arena_deinit(&r.arena);
    if (change.restarted)
        served_queue_mark_working(q);
    if (change.restarted || change.redefined)
        u->on_change(u->ctx, &change);
}

static void take_queue(struct update *u, struct slice queue)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice value;
    struct slice definition;
    int64_t restarts = 0;

    if (!jtext_find(queue, "name", &value) || !jtext_find(queue, "definition", &definition))
        return;
    struct slice name = jtext_text(value, &arena);

    VEC_PUSH(&u->served->names, mem_strndup(name.data, name.size));
    if (jtext_find(queue, "restarts", &value) && jtext_type_of(value) == JTEXT_INT)
        restarts = jtext_int(value);
    served_queues_note_topics(u->served, definition, &arena);
    serve_queue(u, name, definition, restarts);
    struct subscription *subscription = served_queues_subscription(u->served, name);

    if (subscription == NULL)
        return;
    served_queues_found(u->served, name);
    bool served = served_queues_find(u->served, name) != NULL;

    if (!served && !subscription->unserved)
        log_warn("queue %s: there is no command for its jobs: define one for queue %s, in the "
                 "worker's own file (-c) or at the server",
                 subscription->queue, subscription->topic);
    subscription->unserved = !served;
}

static void drop_gone(struct served_queues *all)
{
    for (size_t i = all->items.count; i-- > 0;) {
        struct served_queue *q = all->items.items[i];

        if (q->gone && q->running + q->waiting + q->reserved == 0) {
            served_queue_free(q);
            all->items.items[i] = all->items.items[--all->items.count];
        }
    }
}

static bool has_name(const struct served_queues *all, const char *name)
{
    for (size_t i = 0; i < all->names.count; i++)
        if (strcmp(all->names.items[i], name) == 0)
            return true;
    return false;
}

static void say_unserved(const struct served_queues *all, const char *name)
{
    const char *near = nearest_word(slice_of(name), (const char *const *)all->names.items,
                                    all->names.count);

    if (has_name(all, name))
        log_warn("queue %s: there is no command for its jobs: define one, in the worker's own file "
                 "(-c) or at the server",
                 name);
    else
        log_warn("queue %s: the server has no such queue%s%s%s; it will be served once it is "
                 "defined",
                 name, near != NULL ? " (did you mean '" : "", near != NULL ? near : "",
                 near != NULL ? "'?)" : "");
}

/* Queues that were asked for by name and are not served are logged, each once. */
static void note_unserved(struct served_queues *all)
{
    if (all->only_unserved == NULL && all->n_only > 0)
        all->only_unserved = mem_zalloc(all->n_only * sizeof(*all->only_unserved));
    for (size_t i = 0; i < all->n_only; i++) {
        bool is_served = served_queues_find(all, slice_of(all->only[i])) != NULL;

        if (!is_served && !all->only_unserved[i])
            say_unserved(all, all->only[i]);
        all->only_unserved[i] = !is_served;
    }
}

enum err_code served_queues_update(struct served_queues *all, struct slice reply,
                                   served_queue_changed_fn *on_change, void *ctx, struct err *err)
{
    struct update u = {.served = all, .on_change = on_change, .ctx = ctx};
    struct slice whole;
    struct slice queues;
    struct slice number;
    struct slice queue;

    if (jtext_check(reply, &whole, err) != E_OK)
        return err_wrap(err, "the server's list of queues");
    if (jtext_type_of(whole) != JTEXT_OBJECT || !jtext_find(whole, "queues", &queues) ||
        !jtext_find(whole, "definitions", &number) || jtext_type_of(number) != JTEXT_INT)
        return err_set(
            err, E_INTERNAL,
            "the server's list of queues is malformed; is the server older than this worker?");
    forget_names(all);
    for (size_t i = 0; i < all->items.count; i++)
        all->items.items[i]->gone = true; /* cleared when the update names it */
    for (size_t i = 0; i < all->n_subscriptions; i++)
        all->subscriptions[i].missing = all->subscriptions[i].queue != NULL;
    for (struct jtext_iter it = jtext_items(queues); jtext_next_item(&it, &queue);)
        take_queue(&u, queue);
    drop_gone(all);
    note_unserved(all);
    all->definitions = jtext_int(number);
    all->known = true;
    return E_OK;
}

/* ---- room, and broken ones ---- */

static int slots_of(const struct served_queue *q, int slots)
{
    return q->def.slots == QUEUE_SLOTS_ALL || q->def.slots > slots ? slots : q->def.slots;
}

int served_queue_ahead(const struct served_queue *q, int slots)
{
    if (q->gone || q->broken != NULL || q->took_us <= 0 || q->took_us > SERVED_QUEUE_AHEAD_US)
        return 0;
    int64_t ahead = slots_of(q, slots) * SERVED_QUEUE_AHEAD_US / q->took_us;

    return ahead < AHEAD_MAX ? (int)ahead : AHEAD_MAX;
}

void served_queue_note_time(struct served_queue *q, int64_t took_us)
{
    if (took_us < 1)
        took_us = 1;
    q->took_us = q->took_us == 0 ? took_us : (3 * q->took_us + took_us) / 4;
}

void served_queue_note_late(struct served_queue *q)
{
    q->took_us = LATE_US;
}

int served_queue_capacity(const struct served_queue *q, int slots, int64_t steady_at)
{
    int most = slots_of(q, slots) + served_queue_ahead(q, slots);

    if (q->gone)
        return 0;
    if (q->broken != NULL)
        most = steady_at >= q->retry_at && most > 0 ? 1 : 0;
    most -= q->running + q->waiting + q->reserved;
    return most > 0 ? most : 0;
}

void served_queues_release(struct served_queues *all, struct served_queue *q)
{
    if (!q->gone || q->running + q->waiting + q->reserved > 0)
        return;
    for (size_t i = 0; i < all->items.count; i++)
        if (all->items.items[i] == q)
            all->items.items[i] = all->items.items[--all->items.count];
    served_queue_free(q);
}

bool served_queue_mark_broken(struct served_queue *q, const char *reason, int64_t steady_at)
{
    bool is_news = q->broken == NULL || strcmp(q->broken, reason) != 0;

    if (is_news) {
        free(q->broken);
        q->broken = mem_strdup(reason);
    }
    q->pause_us = q->pause_us == 0 ? BROKEN_FIRST_US : q->pause_us * 2;
    if (q->pause_us > BROKEN_CAP_US)
        q->pause_us = BROKEN_CAP_US;
    q->retry_at = steady_at + q->pause_us;
    return is_news;
}

bool served_queue_mark_working(struct served_queue *q)
{
    bool is_news = q->broken != NULL;

    free(q->broken);
    q->broken = NULL;
    q->pause_us = 0;
    q->retry_at = 0;
    return is_news;
}

int64_t served_queues_next_trial(const struct served_queues *all, int64_t steady_at)
{
    int64_t next = TIME_NEVER;

    for (size_t i = 0; i < all->items.count; i++) {
        const struct served_queue *q = all->items.items[i];

        if (q->broken != NULL && q->retry_at > steady_at && q->retry_at < next)
            next = q->retry_at;
    }
    return next;
}
