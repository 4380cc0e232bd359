/*
 * Publications: create a job for each target, over several commits if needed.
 *
 * The first commit fixes the ids and queues of all jobs and creates as many as fit.  The rest is
 * one row, which later commits continue: each creates the next jobs and moves the row's place, so
 * that a crash cannot change which queue gets which job.  Params and body of all jobs are stored
 * once, under the row's id.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/followups/spread.h"

#include "engine/batch/transaction.h"
#include "engine/filters/filters.h"
#include "engine/followups/chain.h"
#include "engine/followups/join.h"
#include "engine/followups/topic.h"
#include "engine/groups/groups.h"
#include "engine/jobs/keys.h"
#include "engine/jobs/submit.h"
#include "engine/state.h"
#include "store/links/fanout.h"

void fanout_put_off(struct engine *e, int64_t id)
{
    if (e->batch.followups.fanouts_from == 0)
        e->batch.followups.fanouts_from = id;
    e->followups.has_fanouts = true;
    e->followups.fanouts_at = 0;
}

bool fanout_is_for_later(const struct engine *e, int64_t id)
{
    return id == 0 ||
           (e->batch.followups.fanouts_from != 0 && id >= e->batch.followups.fanouts_from);
}

/* ---- creating jobs ---- */

/* Takes the keys of the next n jobs, if the publication has a key; *ret_all: all were free. */
static enum err_code take_keys(struct engine *e, const struct stored_spread *s, size_t n,
                               bool *ret_all, struct err *err)
{
    *ret_all = true;
    if (s->key.size == 0)
        return E_OK;
    if (keys_open(e, err) != E_OK)
        return err->code;
    for (size_t i = s->place; i < s->place + n; i++) {
        const struct queue *q = map_find(&e->queues.by_id, s->targets[i].queue);

        if (q != NULL)
            keys_want(e, topic_key(e, s->key, q), s->targets[i].job, s->content);
    }
    if (keys_take(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < e->batch.keys.entries.count; i++)
        *ret_all = *ret_all && e->batch.keys.entries.items[i]->taken;
    return E_OK;
}

/* If another job has taken the key meanwhile, the job is created without: its id was promised. */
static enum err_code make_published(struct engine *e, const struct stored_spread *s,
                                    const struct routing *routing, struct plan *p, struct err *err)
{
    struct submit_item item = {.queue = slice_of(p->queue->name),
                               .params = s->params,
                               .body = s->body,
                               .labels = s->labels,
                               .priority = s->priority,
                               .content = s->content,
                               .routing = routing,
                               .key = topic_key(e, s->key, p->queue)};

    if (item.key.size > 0 && keys_get(e, item.key)->who.job != p->id)
        item.key = slice_make(NULL, 0);
    if (!queue_has_filters(p->queue))
        return submit_create(e, &item, p, err);
    filters_defer(e, &item, p);
    return E_OK;
}

static enum err_code make_chained(struct engine *e, const struct stored_spread *s,
                                  const struct routing *routing, struct plan *p, struct err *err)
{
    struct chain_source source = {.params = s->params,
                                  .labels = s->labels,
                                  .job = routing->parent,
                                  .depth = routing->depth,
                                  .topic = routing->topic,
                                  .priority = s->priority};

    p->group = routing->group;

    return chain_make(e, &source, p, err);
}

/* Jobs that are decided and not made yet live in their group. */
static void owe(struct engine *e, const struct stored_spread *s, int64_t n)
{
    struct routing routing;

    if (!s->chained)
        return;
    routing_parse(s->routing, &e->batch.arena, &routing);
    groups_owe(e, routing.group, n);
}

/* Creates the next n jobs.  A queue cannot be removed while it is a target. */
static enum err_code make_some(struct engine *e, struct stored_spread *s, size_t n, int64_t shared,
                               struct err *err)
{
    struct routing *routing = arena_alloc(&e->batch.arena, sizeof(*routing));

    if (engine_write(e, err) != E_OK)
        return err->code;
    routing_parse(s->routing, &e->batch.arena, routing);
    for (; n > 0; n--, s->place++) {
        const struct spread_target *t = &s->targets[s->place];
        struct plan p = {.queue = map_find(&e->queues.by_id, t->queue),
                         .id = t->job,
                         .shared = shared};

        if (p.queue == NULL)
            return store_job_damaged(e->store, t->job, "its queue does not exist", err);
        if ((s->chained ? make_chained(e, s, routing, &p, err)
                        : make_published(e, s, routing, &p, err)) != E_OK)
            return err->code;
    }
    return s->key.size > 0 ? filters_make_deferred(e, err) : E_OK; /* their keys are taken now */
}

/* How many jobs the first commit creates.  With a key it is at least one, even in a full commit:
 * only the key of that job stops two servers that publish under the same key at once. */
static size_t part_now(const struct engine *e, const struct stored_spread *s)
{
    size_t now = fanout_part(&e->batch.followups.fanout, &e->followups.fanout_max, s->n_targets,
                             s->labels.size);

    return now == 0 && s->key.size > 0 ? 1 : now;
}

enum err_code spread_make(struct engine *e, struct stored_spread *s, bool *ret_lost,
                          struct err *err)
{
    size_t now = part_now(e, s);
    bool all = true;

    s->id = s->targets[0].job;
    s->place = 0;
    if (take_keys(e, s, now, &all, err) != E_OK)
        return err->code;
    *ret_lost = !all;
    if (*ret_lost)
        return keys_return(e, err);
    fanout_use(&e->batch.followups.fanout, now,
               s->params.size + s->body.size + now * s->labels.size);
    if (now == s->n_targets)
        return make_some(e, s, now, 0, err);
    struct stored_spread rest = *s;

    rest.place = now;
    owe(e, s, (int64_t)(s->n_targets - now));
    fanout_put_off(e, s->id);
    if (engine_write(e, err) != E_OK || store_spread_add(e->store, &rest, err) != E_OK)
        return err->code;
    return make_some(e, s, now, s->id, err);
}

/* ---- unfinished publications ---- */

/* The first row that can be read and is not skipped as damaged. */
static enum err_code next(struct engine *e, struct stored_spread *ret, struct err *err)
{
    ret->id = 0;
    while (store_spread_next(e->store, ret->id, &e->batch.arena, ret, err) != E_OK ||
           (ret->id != 0 && fanout_is_skipped(e, ret->id))) {
        if (err->code != E_OK && (!err->bad_row || !fanout_is_skipped(e, ret->id)))
            return skip_damaged_fanout(e, "publication", ret->id, err);
        *err = ERR_INIT;
        e->followups.has_skipped_fanouts = true;
    }
    return E_OK;
}

static enum err_code go_on(struct engine *e, struct stored_spread *s, struct err *err)
{
    if (s->fired)
        return join_go_on(e, s, err);
    size_t left = s->n_targets - s->place;
    size_t room = fanout_room(&e->batch.followups.fanout, s->labels.size);
    size_t n = left < room ? left : room;
    bool ignored;

    if (take_keys(e, s, n, &ignored, err) != E_OK)
        return err->code;
    /* Params and body are stored already. */
    fanout_use(&e->batch.followups.fanout, n, n * s->labels.size);
    owe(e, s, -(int64_t)n);
    /* The jobs must be written before the row goes: with the row goes what they share. */
    if (make_some(e, s, n, s->id, err) != E_OK || submit_flush(e, err) != E_OK)
        return err->code;
    return store_spread_step(e->store, s, err);
}

enum err_code spread_work(struct engine *e, bool *ret_over, struct err *err)
{
    struct stored_spread s;

    if (next(e, &s, err) != E_OK)
        return err->code;
    *ret_over = fanout_is_for_later(e, s.id);
    if (*ret_over || go_on(e, &s, err) == E_OK)
        return E_OK;
    return skip_damaged_fanout(e, "publication", s.id, err);
}

/* ---- questions ---- */

bool fanouts_may_exist(const struct engine *e)
{
    return must_ask_store(e) || e->followups.has_fanouts || e->followups.has_skipped_fanouts;
}

enum err_code spread_of_key(struct engine *e, struct slice key, struct stored_spread *ret,
                            struct err *err)
{
    *ret = (struct stored_spread){.id = 0};
    return fanouts_may_exist(e) ? store_spread_of_key(e->store, key, &e->batch.arena, ret, err)
                                : E_OK;
}

enum err_code spread_count(struct engine *e, const struct queue *q, int64_t *ret_n, struct err *err)
{
    *ret_n = 0;
    return fanouts_may_exist(e) ? store_spread_count(e->store, q->id, ret_n, err) : E_OK;
}
