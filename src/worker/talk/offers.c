/* SPDX-License-Identifier: MIT */
#include "worker/talk/offers.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/os/log.h"

#define BROKEN_FIRST_US (1 * US_PER_S)
#define BROKEN_CAP_US (1 * US_PER_MIN)
#define LATE_US (50 * OFFER_AHEAD_US)

enum { AHEAD_MAX = 250 };

static void offer_free(struct offer *f)
{
    free(f->name);
    free(f->json);
    free(f->broken);
    spawn_user_free(f->user);
    arena_deinit(&f->arena);
    free(f);
}

/* What an update brings anew. */
static void forget_names(struct offers *o)
{
    for (size_t i = 0; i < o->names.count; i++)
        free(o->names.items[i]);
    for (size_t i = 0; i < o->topics.count; i++)
        free(o->topics.items[i]);
    VEC_CLEAR(&o->names);
    VEC_CLEAR(&o->topics);
}

void offers_deinit(struct offers *o)
{
    for (size_t i = 0; i < o->items.count; i++)
        offer_free(o->items.items[i]);
    forget_names(o);
    for (size_t i = 0; i < o->n_subscriptions; i++)
        free(o->subscriptions[i].queue);
    VEC_DEINIT(&o->items);
    VEC_DEINIT(&o->names);
    VEC_DEINIT(&o->topics);
}

static struct offer *find_any(const struct offers *o, struct slice name)
{
    for (size_t i = 0; i < o->items.count; i++)
        if (slice_is(name, o->items.items[i]->name))
            return o->items.items[i];
    return NULL;
}

struct offer *offers_find(const struct offers *o, struct slice name)
{
    struct offer *f = find_any(o, name);

    return f == NULL || f->gone ? NULL : f;
}

/* ---- which queues are served ---- */

/* A subscriber's queue is another worker's, unless it was asked for by name. */
static bool is_wanted(const struct offers *o, struct slice name, struct slice servers)
{
    struct slice subscriber;

    if (offers_subscription(o, name) != NULL)
        return true;
    for (size_t i = 0; i < o->n_only; i++)
        if (slice_is(name, o->only[i]))
            return true;
    return o->n_only == 0 && o->n_subscriptions == 0 &&
           !json_find(servers, "subscriber", &subscriber);
}

static const struct worker_own_queue *own_of(const struct offers *o, struct slice name)
{
    for (size_t i = 0; i < o->n_own; i++)
        if (slice_equal(o->own[i].name, name))
            return &o->own[i];
    return NULL;
}

/* The definition to go by, empty: the queue is not served here. */
static struct slice definition_for(const struct offers *o, struct slice name, struct slice servers)
{
    const struct subscription *subscription = offers_subscription(o, name);
    const struct worker_own_queue *own = own_of(o, name);

    if (own == NULL && subscription != NULL)
        own = own_of(o, slice_of(subscription->topic));
    if (!is_wanted(o, name, servers) || (own == NULL && o->own_only))
        return (struct slice){0};
    return own != NULL ? own->definition : servers;
}

/* ---- an update ---- */

struct update {
    struct offers *offers;
    offer_changed_fn *on_change;
    void *ctx;
};

static struct offer *add_offer(struct offers *o, struct slice name)
{
    struct offer *f = mem_zalloc(sizeof(*f));

    f->name = mem_strndup(name.data, name.size);
    VEC_PUSH(&o->items, f);
    return f;
}

/* A definition that was read, and the arena it lives in. */
struct reading {
    struct queue_def def;
    struct template_command command;
    struct arena arena;
};

static enum err_code read_definition(struct slice json, struct reading *r, struct err *err)
{
    if (queue_def_parse_stored(json, &r->arena, &r->def, err) != E_OK || r->def.command.size == 0)
        return err->code;
    return template_command_parse(r->def.command, &r->arena, &r->command, NULL, err);
}

static void redefine(struct offer *f, struct slice definition, struct reading *r)
{
    free(f->json);
    f->json = mem_strndup(definition.data, definition.size);
    f->def = r->def;
    f->command = r->command;
    arena_deinit(&f->arena);
    f->arena = r->arena;
    r->arena = ARENA_INIT;
    spawn_user_free(f->user);
    f->user = NULL;
    offer_mend(f);
}

static void offer_queue(struct update *u, struct slice name, struct slice definition,
                        int64_t restarts)
{
    struct offer *f = find_any(u->offers, name);
    struct reading r = {.arena = ARENA_INIT};
    struct err err = ERR_INIT;

    if (read_definition(definition, &r, &err) != E_OK)
        log_warn("queue %.*s: %s; it is not served here", (int)name.size, name.data, err.msg);
    if (err.code != E_OK || (r.def.command.size == 0 && !r.def.own_command)) {
        arena_deinit(&r.arena); /* for outside claimers only */
        return;
    }
    bool is_new = f == NULL;

    if (is_new)
        f = add_offer(u->offers, name);
    struct offer_change change = {.offer = f,
                                  .restarted = !is_new && restarts != f->restarts,
                                  .redefined = !is_new && !slice_is(definition, f->json)};

    f->gone = false;
    f->restarts = restarts;
    if (is_new || change.redefined)
        redefine(f, definition, &r);
    arena_deinit(&r.arena);
    if (change.restarted)
        offer_mend(f);
    if (change.restarted || change.redefined)
        u->on_change(u->ctx, &change);
}

/* Nothing says how to run what comes there. */
static void warn_unserved(const struct subscription *s)
{
    log_warn(
        "queue %s: nothing here says what to run for its jobs: queue %s needs a command, in the "
        "worker's own file (-c) or at the server",
        s->queue, s->topic);
}

static void take_queue(struct update *u, struct slice queue)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice value;
    struct slice definition;
    int64_t restarts = 0;

    if (!json_find(queue, "name", &value) || !json_find(queue, "definition", &definition))
        return;
    struct slice name = json_text(value, &arena);

    VEC_PUSH(&u->offers->names, mem_strndup(name.data, name.size));
    if (json_find(queue, "restarts", &value) && json_type_of(value) == JSON_T_INT)
        restarts = json_int(value);
    offers_note_topics(u->offers, definition, &arena);
    definition = definition_for(u->offers, name, definition);
    if (definition.size > 0)
        offer_queue(u, name, definition, restarts);
    struct subscription *subscription = offers_subscription(u->offers, name);

    if (subscription == NULL)
        return;
    offers_found(u->offers, name);
    bool served = offers_find(u->offers, name) != NULL;

    if (!served && !subscription->unserved)
        warn_unserved(subscription);
    subscription->unserved = !served;
}

static void drop_gone(struct offers *o)
{
    for (size_t i = o->items.count; i-- > 0;) {
        struct offer *f = o->items.items[i];

        if (f->gone && f->running + f->waiting + f->reserved == 0) {
            offer_free(f);
            o->items.items[i] = o->items.items[--o->items.count];
        }
    }
}

enum err_code offers_update(struct offers *o, struct slice reply, offer_changed_fn *on_change,
                            void *ctx, struct err *err)
{
    struct update u = {.offers = o, .on_change = on_change, .ctx = ctx};
    struct slice whole;
    struct slice queues;
    struct slice number;
    struct slice queue;

    if (json_check(reply, &whole, err) != E_OK)
        return err_wrap(err, "the server's list of queues");
    if (json_type_of(whole) != JSON_T_OBJECT || !json_find(whole, "queues", &queues) ||
        !json_find(whole, "definitions", &number) || json_type_of(number) != JSON_T_INT)
        return err_set(err, E_INTERNAL, "the server's list of queues is not one: is it older?");
    forget_names(o);
    for (size_t i = 0; i < o->items.count; i++)
        o->items.items[i]->gone = true; /* unless it is found again */
    for (size_t i = 0; i < o->n_subscriptions; i++)
        o->subscriptions[i].missing = o->subscriptions[i].queue != NULL;
    for (struct json_iter it = json_items(queues); json_next_item(&it, &queue);)
        take_queue(&u, queue);
    drop_gone(o);
    o->definitions = json_int(number);
    o->known = true;
    return E_OK;
}

/* ---- room, and broken ones ---- */

static int slots_of(const struct offer *f, int slots)
{
    return f->def.slots == QUEUE_SLOTS_ALL || f->def.slots > slots ? slots : f->def.slots;
}

int offer_ahead(const struct offer *f, int slots)
{
    if (f->gone || f->broken != NULL || f->took_us <= 0 || f->took_us > OFFER_AHEAD_US)
        return 0;
    int64_t ahead = slots_of(f, slots) * OFFER_AHEAD_US / f->took_us;

    return ahead < AHEAD_MAX ? (int)ahead : AHEAD_MAX;
}

void offer_note_time(struct offer *f, int64_t took_us)
{
    if (took_us < 1)
        took_us = 1;
    f->took_us = f->took_us == 0 ? took_us : (3 * f->took_us + took_us) / 4;
}

void offer_note_late(struct offer *f)
{
    f->took_us = LATE_US;
}

int offer_room(const struct offer *f, int slots, int64_t steady_at)
{
    int most = slots_of(f, slots) + offer_ahead(f, slots);

    if (f->gone)
        return 0;
    if (f->broken != NULL)
        most = steady_at >= f->retry_at && most > 0 ? 1 : 0;
    most -= f->running + f->waiting + f->reserved;
    return most > 0 ? most : 0;
}

void offers_put_back(struct offers *o, struct offer *f)
{
    if (!f->gone || f->running + f->waiting + f->reserved > 0)
        return;
    for (size_t i = 0; i < o->items.count; i++)
        if (o->items.items[i] == f)
            o->items.items[i] = o->items.items[--o->items.count];
    offer_free(f);
}

bool offer_break(struct offer *f, const char *reason, int64_t steady_at)
{
    bool is_news = f->broken == NULL || strcmp(f->broken, reason) != 0;

    if (is_news) {
        free(f->broken);
        f->broken = mem_strdup(reason);
    }
    f->pause_us = f->pause_us == 0 ? BROKEN_FIRST_US : f->pause_us * 2;
    if (f->pause_us > BROKEN_CAP_US)
        f->pause_us = BROKEN_CAP_US;
    f->retry_at = steady_at + f->pause_us;
    return is_news;
}

bool offer_mend(struct offer *f)
{
    bool is_news = f->broken != NULL;

    free(f->broken);
    f->broken = NULL;
    f->pause_us = 0;
    f->retry_at = 0;
    return is_news;
}

int64_t offers_next_trial(const struct offers *o, int64_t steady_at)
{
    int64_t next = TIME_NEVER;

    for (size_t i = 0; i < o->items.count; i++) {
        const struct offer *f = o->items.items[i];

        if (f->broken != NULL && f->retry_at > steady_at && f->retry_at < next)
            next = f->retry_at;
    }
    return next;
}
