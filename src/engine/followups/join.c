/*
 * Joins: count arrivals by key, and follow their destinations when a key has enough of them.
 *
 * Each key has a row with its count.  The commit that brings the last missing arrival removes the
 * row and fires the join.  Destinations beyond the size of that commit are stored with their params
 * as a row of `spreads`, for the next commits.  On a shared store an arrival locks the key.  How
 * often a join has fired is a number of the whole join: it is written last, to lock it briefly.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/followups/join.h"

#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "core/route/join_def.h"
#include "engine/batch/transaction.h"
#include "engine/followups/chain.h"
#include "engine/followups/spread.h"
#include "engine/jobs/submit.h"
#include "engine/queues/define.h"
#include "engine/reads/job_json.h"
#include "engine/state.h"
#include "store/jobs/record.h"
#include "store/links/fanout.h"
#include "store/links/links.h"

#define PARAMS_MAX (4 * JOB_BYTES_MAX)

enum { SMALL_DESTS = 4, SMALL_BYTES = 4096, SMALL_FIRINGS = 100 };

struct arrival {
    struct slice key;
    int64_t count; /* arrivals under that key since it fired last */
    bool fired;
};

/* ---- arriving ---- */

static enum err_code fill_key(struct engine *e, const struct join_def *def,
                              const struct chain_source *source, struct slice *ret_key,
                              struct err *refused)
{
    CLEANUP(buf) struct buf key = BUF_INIT(PARAMS_MAX);
    const struct queue *q = source->queue == 0 ? NULL : map_find(&e->queues.by_id, source->queue);
    struct slice params = source->params.size == 0 ? SLICE("{}") : source->params;
    char id[ID_TEXT_SIZE];
    struct template_values values = {
        .objects = &params,
        .n_objects = 1,
        .id = slice_of(source->job == 0 ? "" : id_format(source->job, id)),
        .queue = slice_of(q == NULL ? "" : q->name),
        .now_at = e->now.wall_at,
    };

    if (template_text_fill(&def->key, &values, &key, refused) != E_OK)
        return err_wrap(refused, "key");
    if (key.size > JOIN_KEY_MAX)
        return err_set(refused, E_TOO_LARGE, "the key has %zu bytes, more than %d", key.size,
                       JOIN_KEY_MAX);
    *ret_key = arena_copy(&e->batch.arena, buf_slice(&key));
    return E_OK;
}

static void add_arrivals(struct buf *b, struct slice name, const struct stored_arrivals *a)
{
    buf_add_str(b, "{\"join\":{\"name\":");
    jtext_add_string(b, name);
    jtext_put_string(b, "key", a->key);
    jtext_add_key(b, "jobs");
    buf_add_char(b, '[');
    for (size_t i = 0; i < a->n_jobs; i++)
        submit_add_id(b, a->jobs[i]);
    buf_add_str(b, "]}}");
}

/* Stores the destinations as they are now: the definition may change. */
static enum err_code put_off(struct engine *e, const struct dest_list *dests, size_t place,
                             const struct chain_source *source, struct err *err)
{
    CLEANUP(buf) struct buf json = BUF_INIT(PARAMS_MAX);

    dest_list_json(dests, &json);
    struct routing routing = {.parent = source->job,
                              .depth = source->depth,
                              .on_success = buf_slice(&json)};
    struct stored_spread row = {
        .id = engine_new_id(e),
        .fired = true,
        .cause_queue = source->queue,
        .priority = source->priority,
        .params = source->params,
        .labels = source->labels,
        .routing = routing_format(&routing, &e->batch.arena),
        .targets = arena_array(&e->batch.arena, dests->count, sizeof(struct spread_target)),
        .n_targets = dests->count,
        .place = place,
    };

    fanout_put_off(e, row.id);
    fanout_use(&e->batch.followups.fanout, 1, row.params.size);
    return store_spread_add(e->store, &row, err);
}

enum err_code join_go_on(struct engine *e, struct stored_spread *spread, struct err *err)
{
    struct err ignored = ERR_INIT;
    struct dest_list dests;
    struct routing routing;

    routing_parse(spread->routing, &e->batch.arena, &routing);
    struct chain_source source = {.params = spread->params,
                                  .labels = spread->labels,
                                  .job = routing.parent,
                                  .queue = spread->cause_queue,
                                  .depth = routing.depth,
                                  .priority = spread->priority};

    if (dest_list_parse(routing.on_success, "", &e->batch.arena, &dests, NULL, &ignored) != E_OK ||
        dests.count != spread->n_targets)
        return store_job_damaged(e->store, spread->id, "the destinations of its join are missing",
                                 err);
    if (engine_write(e, err) != E_OK ||
        chain_follow_one(e, &dests.items[spread->place], &source, err) != E_OK)
        return err->code;
    spread->place++;
    if (chain_follow(e, &dests, &source, &spread->place, err) != E_OK)
        return err->code;
    /* The row itself; counted last, so that at least one destination is followed. */
    fanout_use(&e->batch.followups.fanout, 1, 0);
    return store_spread_step(e->store, spread, err);
}

/* The first small firings of a batch are followed at once, even in a full commit: storing them for
 * later would cost more. */
static bool is_small(const struct engine *e, const struct dest_list *dests, struct slice params)
{
    return dests->count <= SMALL_DESTS && params.size <= SMALL_BYTES &&
           e->batch.followups.join_firings.count <= SMALL_FIRINGS;
}

static enum err_code lead_on(struct engine *e, const struct dest_list *dests,
                             const struct chain_source *source, struct err *err)
{
    size_t place = 0;

    if (is_small(e, dests, source->params))
        for (; place < dests->count; place++)
            if (chain_follow_one(e, &dests->items[place], source, err) != E_OK)
                return err->code;
    if (chain_follow(e, dests, source, &place, err) != E_OK)
        return err->code;
    fanout_use(&e->batch.followups.fanout, 0, source->params.size);
    return place == dests->count ? E_OK : put_off(e, dests, place, source, err);
}

static enum err_code fire(struct engine *e, const struct stored_join *join,
                          const struct join_def *def, const struct stored_arrivals *a,
                          const struct chain_source *source, struct err *err)
{
    CLEANUP(buf) struct buf told = BUF_INIT(PARAMS_MAX);
    CLEANUP(buf) struct buf params = BUF_INIT(PARAMS_MAX);
    struct chain_source own = *source; /* its jobs come from several, and are in no group */

    VEC_PUSH(&e->batch.followups.join_firings,
             ((struct join_firing){.join = join->id, .times = 1}));
    if (store_arrivals_remove(e->store, join->id, a->key, err) != E_OK)
        return err->code;
    add_arrivals(&told, join->name, a);
    jtext_add_merged(&params, source->params.size == 0 ? SLICE("{}") : source->params,
                     buf_slice(&told));
    own.params = arena_copy(&e->batch.arena, buf_slice(&params));
    own.group = 0;
    return lead_on(e, &def->then, &own, err);
}

/* Keeps the ids of the first JOIN_JOBS_KEPT jobs that arrive. */
static void add_job(struct engine *e, struct stored_arrivals *a, int64_t job)
{
    int64_t *jobs = arena_array(&e->batch.arena, a->n_jobs + 1, sizeof(*jobs));

    if (job == 0 || a->n_jobs >= JOIN_JOBS_KEPT)
        return;
    for (size_t i = 0; i < a->n_jobs; i++)
        jobs[i] = a->jobs[i];
    jobs[a->n_jobs++] = job;
    a->jobs = jobs;
}

static enum err_code count(struct engine *e, const struct stored_join *join,
                           const struct join_def *def, const struct chain_source *source,
                           struct arrival *arrival, struct err *err)
{
    struct stored_arrivals a;

    if (store_join_hold_key(e->store, join->id, arrival->key, err) != E_OK ||
        store_arrivals_find(e->store, join->id, arrival->key, &e->batch.arena, &a, err) != E_OK)
        return err->code;
    if (a.count == 0)
        a = (struct stored_arrivals){.first_at = e->now.wall_at};
    a.join = join->id;
    a.key = arrival->key;
    a.count++;
    add_job(e, &a, source->job);
    arrival->fired = a.count >= def->count;
    arrival->count = arrival->fired ? 0 : a.count;
    return arrival->fired ? fire(e, join, def, &a, source, err)
                          : store_arrivals_put(e->store, &a, err);
}

/* `refused`: the join does not exist, or its key cannot be filled. */
static enum err_code arrive(struct engine *e, struct slice name, const struct chain_source *source,
                            struct arrival *arrival, struct err *refused, struct err *err)
{
    struct err ignored = ERR_INIT;
    struct stored_join join;
    struct join_def def;
    struct quote quote;

    if (engine_write(e, err) != E_OK ||
        store_join_find(e->store, name, &e->batch.arena, &join, err) != E_OK)
        return err->code;
    if (join.id == 0) {
        err_set(refused, E_NOT_FOUND, "there is no join %s", quote_text(&quote, name));
        return E_OK;
    }
    if (join_def_parse(join.definition, &e->batch.arena, &def, NULL, &ignored) != E_OK) {
        err_set(refused, E_INTERNAL, "join %s: %s", quote_text(&quote, name), ignored.msg);
        return E_OK;
    }
    if (fill_key(e, &def, source, &arrival->key, refused) != E_OK) {
        (void)err_wrap(refused, "join %s", quote_text(&quote, name));
        return E_OK;
    }
    return count(e, &join, &def, source, arrival, err);
}

enum err_code join_arrive(struct engine *e, struct slice name, const struct chain_source *source,
                          struct err *err)
{
    struct err refused = ERR_INIT;
    struct arrival arrival;

    if (arrive(e, name, source, &arrival, &refused, err) != E_OK)
        return err->code;
    return refused.code == E_OK ? E_OK : chain_missing_dest(e, source, refused.msg, err);
}

static int by_join(const void *a, const void *b)
{
    int64_t x = ((const struct join_firing *)a)->join;
    int64_t y = ((const struct join_firing *)b)->join;

    return (x > y) - (x < y);
}

enum err_code joins_write(struct engine *e, struct err *err)
{
    struct join_firing *join_firings = e->batch.followups.join_firings.items;
    size_t n = e->batch.followups.join_firings.count;

    if (n > 1)
        qsort(join_firings, n, sizeof(join_firings[0]), by_join);
    for (size_t i = 0; i < n;) {
        int64_t times = 0;
        int64_t join = join_firings[i].join;

        for (; i < n && join_firings[i].join == join; i++)
            times += join_firings[i].times;
        if (store_join_fired(e->store, join, times, e->now.wall_at, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* ---- requests ---- */

static enum err_code run_arrive(struct engine *e, struct op *op, struct err *err)
{
    struct chain_source source = {.params = op->join.params, .depth = 1};
    struct arrival arrival = {.count = 0};

    if (arrive(e, op->join.name, &source, &arrival, &op->err, err) != E_OK)
        return err->code;
    if (op->err.code != E_OK)
        return E_OK;
    buf_add_str(&op->reply, "{\"name\":");
    jtext_add_string(&op->reply, op->join.name);
    jtext_put_string(&op->reply, "key", arrival.key);
    jtext_put_int(&op->reply, "count", arrival.count);
    jtext_put_bool(&op->reply, "fired", arrival.fired);
    buf_add_char(&op->reply, '}');
    return E_OK;
}

static enum err_code clear_key(struct engine *e, const struct stored_join *join, struct slice key,
                               int64_t *ret_keys, struct err *err)
{
    struct stored_arrivals a;

    if (store_join_hold_key(e->store, join->id, key, err) != E_OK ||
        store_arrivals_find(e->store, join->id, key, &e->batch.arena, &a, err) != E_OK)
        return err->code;
    *ret_keys = a.count > 0;
    return store_arrivals_remove(e->store, join->id, key, err);
}

/* Removing the join removes any number of arrivals at once; then it is put back. */
static enum err_code clear_all(struct engine *e, const struct stored_join *join, int64_t *ret_keys,
                               struct err *err)
{
    if (store_join_hold(e->store, join->id, err) != E_OK ||
        store_arrivals_count(e->store, join->id, ret_keys, err) != E_OK ||
        store_join_remove(e->store, join->id, err) != E_OK)
        return err->code;
    return store_join_put(e->store, join, err);
}

static enum err_code run_clear(struct engine *e, struct op *op, struct err *err)
{
    const struct join_op *o = &op->join;
    struct stored_join join;
    struct quote quote;
    int64_t keys = 0;

    if (engine_write(e, err) != E_OK ||
        store_join_find(e->store, o->name, &e->batch.arena, &join, err) != E_OK)
        return err->code;
    if (join.id == 0) {
        err_set(&op->err, E_NOT_FOUND, "there is no join %s", quote_text(&quote, o->name));
        return E_OK;
    }
    if ((o->has_key ? clear_key(e, &join, o->key, &keys, err) : clear_all(e, &join, &keys, err)) !=
        E_OK)
        return err->code;
    buf_add_str(&op->reply, "{\"name\":");
    jtext_add_string(&op->reply, o->name);
    jtext_put_int(&op->reply, "cleared", keys);
    buf_add_char(&op->reply, '}');
    return E_OK;
}

enum err_code join_run(struct engine *e, struct op *op, struct err *err)
{
    return op->join.kind == JOIN_OP_ARRIVE ? run_arrive(e, op, err) : run_clear(e, op, err);
}

/* ---- definitions ---- */

struct join_loading {
    struct define_set *set;
    struct arena *arena;
};

static void take_join(void *ctx, const struct stored_join *join)
{
    struct join_loading *l = ctx;
    struct slice definition = arena_copy(l->arena, join->definition); /* the links borrow it */

    define_set_add(l->set, &(struct defined){.kind = DEFINITION_JOIN,
                                             .name = arena_copy(l->arena, join->name),
                                             .id = join->id,
                                             .links = definition_kinds[DEFINITION_JOIN].links(
                                                 definition, l->arena)});
}

static enum err_code load_joins(struct engine *e, struct define_set *set, struct err *err)
{
    return store_joins_list(e->store, slice_make(NULL, 0), INT32_MAX, take_join,
                            &(struct join_loading){set, &e->batch.arena}, err);
}

static enum err_code check_exists(struct engine *e, struct slice name, struct err *refused,
                                  struct err *err)
{
    struct stored_join join;

    if (store_join_find(e->store, name, &e->batch.arena, &join, err) != E_OK)
        return err->code;
    if (join.id == 0)
        definition_name_unknown(DEFINITION_JOIN, name, NULL, 0, E_INVALID, refused);
    return E_OK;
}

static enum err_code put_join(struct engine *e, const struct definition_put *put, bool dry_run,
                              enum define_change *ret_change, struct err *err)
{
    struct stored_join join;

    if (store_join_find(e->store, put->name, &e->batch.arena, &join, err) != E_OK)
        return err->code;
    *ret_change = join.id == 0                                    ? DEFINE_ADDED
                  : slice_equal(join.definition, put->definition) ? DEFINE_SAME
                                                                  : DEFINE_CHANGED;
    if (*ret_change == DEFINE_SAME || dry_run)
        return E_OK;
    if (*ret_change == DEFINE_ADDED)
        join = (struct stored_join){.id = engine_new_id(e), .name = put->name};
    join.definition = put->definition;
    return engine_write(e, err) != E_OK ? err->code : store_join_put(e->store, &join, err);
}

static enum err_code check_removal(struct engine *e, const struct defined *d, struct err *refused,
                                   struct err *err)
{
    struct quote quote;
    int64_t keys = 0;

    if (store_arrivals_count(e->store, d->id, &keys, err) != E_OK)
        return err->code;
    if (keys > 0)
        err_set(refused, E_CONFLICT,
                "join %s has arrivals under %lld keys: clear them first ('waybill join clear')",
                quote_text(&quote, d->name), (long long)keys);
    return E_OK;
}

static enum err_code remove_join(struct engine *e, const struct defined *d, struct err *err)
{
    return engine_write(e, err) != E_OK ? err->code : store_join_remove(e->store, d->id, err);
}

const struct define_rules join_define_rules = {
    .load = load_joins,
    .check_exists = check_exists,
    .put = put_join,
    .check_removal = check_removal,
    .remove = remove_join,
};
