/*
 * Routes that are run again, or copied: from which step, and with which params.
 *
 * What earlier steps have set is computed again from the record.  Params that a person changes
 * override it and the steps' own params of those names, also in later runs: for each changed param
 * the routing keeps the number of the last attempt before the change, and what attempts up to that
 * number have set is ignored.
 */
/* SPDX-License-Identifier: MIT */
#include <limits.h>

#include "base/jtext/jtext.h"
#include "engine/batch/transaction.h"
#include "engine/followups/route.h"
#include "engine/queues/queue.h"
#include "engine/reads/job_json.h"
#include "store/jobs/record.h"

/* ---- params that a person has changed ---- */

/* The last attempt before the param was changed by hand; INT_MIN: never changed.  0: it was changed
 * before the first attempt, which also overrides the steps that the job was submitted as having
 * run (they have negative numbers).  `name` is JSON text. */
static int changed_at(struct slice changed, struct slice name, struct arena *arena)
{
    struct slice text = jtext_text(name, arena);
    struct slice key;
    struct slice value;

    if (changed.size == 0)
        return INT_MIN;
    for (struct jtext_iter it = jtext_members(changed); jtext_next_member(&it, &key, &value);)
        if (slice_equal(jtext_text(key, arena), text))
            return (int)jtext_int(value);
    return INT_MIN;
}

struct setting {
    int seq; /* of the attempt that set it */
    struct slice changed;
    struct arena *arena;
};

static bool still_counts(void *ctx, struct slice key)
{
    const struct setting *s = ctx;

    return changed_at(s->changed, key, s->arena) < s->seq;
}

/* What an attempt has set, without params that were changed later. */
static struct slice still_set(const struct progress_entry *entry, struct slice changed,
                              struct arena *arena)
{
    CLEANUP(buf) struct buf b = BUF_INIT(JOB_BYTES_MAX);
    struct setting setting = {entry->seq, changed, arena};

    if (changed.size == 0 || entry->set.size == 0)
        return arena_copy(arena, entry->set);
    jtext_add_kept(&b, entry->set, still_counts, &setting);
    return b.size == 2 ? slice_make(NULL, 0) : arena_copy(arena, buf_slice(&b));
}

/* Adds the params that are changed now. */
static struct slice add_changed(const struct routing *routing, const struct job *j,
                                struct slice params, struct arena *arena)
{
    CLEANUP(buf) struct buf b = BUF_INIT(JOB_BYTES_MAX);
    struct slice key;
    struct slice value;

    buf_add_char(&b, '{');
    for (struct jtext_iter it = jtext_members(params); jtext_next_member(&it, &key, &value);) {
        jtext_add_comma(&b);
        buf_add_slice(&b, key);
        buf_addf(&b, ":%d", j->attempt);
    }
    buf_add_char(&b, '}');
    return route_params(routing->changed, arena_copy(arena, buf_slice(&b)), slice_make(NULL, 0),
                        arena);
}

struct changed_now {
    struct slice params;
    struct arena *arena;
};

static bool stays_own(void *ctx, struct slice key)
{
    const struct changed_now *c = ctx;
    struct slice value;

    return !jtext_find(c->params, arena_strdup(c->arena, jtext_text(key, c->arena)), &value);
}

/* Steps lose their own params of the names that are changed now. */
static void override_own(struct routing *routing, struct slice params, struct arena *arena)
{
    struct changed_now changed = {params, arena};

    for (size_t i = 0; i < routing->n_steps && params.size > 0; i++) {
        CLEANUP(buf) struct buf b = BUF_INIT(JOB_BYTES_MAX);
        struct route_step *step = &routing->steps[i];

        if (step->params.size == 0)
            continue;
        jtext_add_kept(&b, step->params, stays_own, &changed);
        step->params = b.size == 2 ? slice_make(NULL, 0) : arena_copy(arena, buf_slice(&b));
    }
}

/* ---- params that steps have set ---- */

/* Collects what earlier steps have set, from the record: only the attempt that ended a step
 * counts. */
struct assigning {
    const struct routing *routing;
    size_t before; /* place of the step to run */
    struct arena *arena;
    struct slice assigned;
    struct progress_entry last; /* counts unless another attempt of its step follows */
};

static void settle_last(struct assigning *a)
{
    if (a->last.set.size > 0)
        a->assigned = route_params(a->assigned, a->last.set, slice_make(NULL, 0), a->arena);
    a->last = (struct progress_entry){0};
}

static void take_assigned(void *ctx, const struct progress_entry *entry)
{
    struct assigning *a = ctx;

    if (a->last.number != entry->number)
        settle_last(a);
    if (route_place(a->routing, entry->number) >= a->before)
        return;
    a->last = *entry;
    a->last.set = still_set(entry, a->routing->changed, a->arena);
    if (entry->outcome == JOB_OUT_DONE)
        settle_last(a);
}

/* ---- the first step ---- */

static int stopped_at(const struct job *j)
{
    return j->state == JOB_FAILED ? j->failed_step : j->state == JOB_CANCELLED ? j->step : 0;
}

static enum err_code choose_step(const struct routing *routing, const struct job *j,
                                 struct slice from, bool anew, const struct route_step **ret_step,
                                 struct err *refused)
{
    int number = anew ? 0 : stopped_at(j);

    if (from.size > 0)
        return route_select(routing, from, ret_step, refused);
    *ret_step = number == 0 ? &routing->steps[0] : route_find(routing, number);
    if (*ret_step == NULL)
        return err_set(refused, E_CONFLICT, "step %d, where it stopped, is no longer in its route",
                       number);
    return E_OK;
}

enum err_code route_again(struct engine *e, const struct job_action *action, const struct job *j,
                          struct slice params, struct route_again *ret, struct err *refused,
                          struct err *err)
{
    const struct route_step *step = NULL;
    struct routing routing;

    routing_parse(j->routing, batch_arena(e), &routing);
    if (choose_step(&routing, j, action->from, action->anew, &step, refused) != E_OK)
        return E_OK;
    *ret = (struct route_again){.queue = queue_find(e, step->queue), .step = step->number};
    if (ret->queue == NULL) {
        queue_unknown(e, step->queue, E_INVALID, refused);
        return E_OK;
    }
    bool rewritten = routing.n_skip > 0 || action->params.size > 0;

    routing.n_skip = 0; /* from its first step on it runs all steps */
    if (action->params.size > 0)
        routing.changed = add_changed(&routing, j, action->params, batch_arena(e));
    override_own(&routing, action->params, batch_arena(e));
    struct assigning a = {.routing = &routing,
                          .before = route_place(&routing, step->number),
                          .arena = batch_arena(e)};

    if (store_progress_load(batch_store(e), j->id.v, take_assigned, &a, err) != E_OK)
        return err->code;
    settle_last(&a);
    ret->options = route_options(&routing, step, batch_arena(e));
    ret->assigned = a.assigned;
    ret->params = route_params(params, ret->assigned, step->params, batch_arena(e));
    if (rewritten)
        ret->routing = routing_format(&routing, batch_arena(e));
    return E_OK;
}

enum err_code route_copy(struct engine *e, const struct job *j, struct slice changed,
                         struct job *copy, struct err *refused)
{
    struct routing routing;

    routing_parse(j->routing, batch_arena(e), &routing);
    routing.after = slice_make(NULL, 0);
    routing.changed = slice_make(NULL, 0);
    override_own(&routing, changed, batch_arena(e));
    routing.n_skip = 0;
    routing.parent = 0;
    routing.depth = 0;
    copy->routing = routing_format(&routing, batch_arena(e));
    copy->has_dests = routing_is_followed(&routing);
    if (routing.n_steps == 0)
        return E_OK;
    const struct queue *q = queue_find(e, routing.steps[0].queue);

    if (q == NULL)
        return queue_unknown(e, routing.steps[0].queue, E_INVALID, refused);
    copy->queue = q->id;
    copy->step = routing.steps[0].number;
    copy->options = route_options(&routing, &routing.steps[0], batch_arena(e));
    return E_OK;
}
