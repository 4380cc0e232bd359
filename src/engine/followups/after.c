/*
 * An array is judged as a whole, in time linear in its number of conditions: refs are found in a
 * table, ids by one query, circles by one walk.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/followups/after.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "engine/batch/names.h"
#include "engine/batch/transaction.h"
#include "engine/followups/after_targets.h"
#include "engine/followups/signal.h"
#include "engine/state.h"
#include "store/groups/groups.h"
#include "store/jobs/jobs.h"

struct judging {
    struct engine *e;
    const struct submit_item *items;
    size_t n;
    struct plan *plans;
    struct after_target **targets;
    bool late; /* the job exists already: a missing target is no error of the request */

    /* The route that was loaded last. */
    int64_t route_of;
    struct routing routing;
    struct step_ends steps;
    struct arena arena; /* of the routing */
};

static void judging_deinit(struct judging *g)
{
    step_ends_deinit(&g->steps);
    arena_deinit(&g->arena);
}

/* ---- steps ---- */

static enum err_code load_route(struct judging *g, const struct after_target *t, struct err *err)
{
    bool found = false;
    struct job j;

    if (g->route_of == t->id)
        return E_OK;
    g->route_of = 0;
    step_ends_deinit(&g->steps);
    arena_clear(&g->arena);
    if (t->place > 0) {
        const struct routing *routing = g->items[t->place - 1].routing;

        g->routing = (struct routing){0};
        if (routing != NULL)
            g->routing = *routing;
    } else {
        if (store_job_load(g->e->store, t->id, LOAD_PAYLOAD, &g->arena, &j, &found, err) != E_OK ||
            step_ends_load(g->e, t->id, &g->steps, err) != E_OK)
            return err->code;
        routing_parse(found ? j.routing : slice_make(NULL, 0), &g->arena, &g->routing);
    }
    g->route_of = t->id;
    return E_OK;
}

/* A new job may be submitted with the status of steps that it has run. */
static int state_by_progress(const struct submit_item *item, int step)
{
    int state = STEP_OPEN;

    for (size_t i = 0; i < item->n_progress; i++)
        if (item->progress[i].number == step && item->progress[i].has_status)
            state = item->progress[i].status == 0 ? JOB_DONE : JOB_FAILED;
    return state;
}

static enum err_code judge_step(struct judging *g, struct slice step, struct after_target *t,
                                int *ret_state, struct err *refused, struct err *err)
{
    const struct route_step *found = NULL;
    char id[ID_TEXT_SIZE];

    if (load_route(g, t, err) != E_OK)
        return err->code;
    if (g->routing.n_steps == 0) {
        err_set(refused, E_INVALID, "job %s has no steps", id_format(t->id, id));
        return E_OK;
    }
    if (route_select(&g->routing, step, &found, refused) != E_OK)
        return E_OK;
    t->step = found->number;
    *ret_state = t->again       ? STEP_OPEN
                 : t->place > 0 ? state_by_progress(&g->items[t->place - 1], t->step)
                                : step_ends_state(&g->steps, t->step);
    return E_OK;
}

/* ---- conditions ---- */

/* *ret_state: STEP_OPEN while the job or step may still end as the condition wants. */
static enum err_code judge_job(struct judging *g, const struct after_cond *c,
                               struct after_target *t, int *ret_state, struct err *refused,
                               struct err *err)
{
    enum job_state state = t->place > 0 || t->again ? JOB_READY : t->state;
    char id[ID_TEXT_SIZE];

    *ret_state = state == JOB_NONE || job_state_ended(state) ? (int)state : STEP_OPEN;
    if (state == JOB_NONE && !g->late)
        err_set(refused, E_INVALID, "there is no job %s (any more)", id_format(t->id, id));
    if (state == JOB_NONE || c->step.size == 0)
        return E_OK;
    return judge_step(g, c->step, t, ret_state, refused, err);
}

static void add_wait(struct after_plan *plan, int64_t waiter, const struct after_cond *c,
                     const struct after_target *t)
{
    plan->waits[plan->n_waits++] = (struct planned_wait){
        .row = {.waiter = waiter,
                .kind = c->kind,
                .target = t->id,
                .step = t->step,
                .on = c->on,
                .count = c->count,
                .take = c->take},
        .signal = c->kind == AFTER_SIGNAL ? c->signal : slice_make(NULL, 0),
    };
}

/* Waits for the end of a group, which it must hear of, unless it has ended. */
static enum err_code judge_group(struct judging *g, const struct after_cond *c, int *ret_state,
                                 struct err *refused, struct err *err)
{
    struct stored_group group;
    char id[ID_TEXT_SIZE];

    *ret_state = JOB_NONE;
    if (store_group_hold(g->e->store, c->group, &g->e->batch.arena, &group, err) != E_OK)
        return err->code;
    if (group.id == 0 && !g->late)
        err_set(refused, E_INVALID, "there is no group %s (any more)", id_format(c->group, id));
    if (group.id == GROUP_ROOT)
        err_set(refused, E_INVALID, "the root never ends");
    if (group.id == 0 || refused->code != E_OK)
        return E_OK;
    *ret_state = group_job_state(group.state);
    if (*ret_state != STEP_OPEN || (group.flags & GROUP_IS_AWAITED) != 0)
        return E_OK;
    group.flags |= GROUP_IS_AWAITED;
    return engine_write(g->e, err) != E_OK ? err->code : store_group_set(g->e->store, &group, err);
}

static enum err_code plan_jobs(struct judging *g, size_t i, struct after_plan *plan,
                               struct err *err)
{
    const struct submit_item *item = &g->items[i];
    struct err *refused = &g->plans[i].refused;

    for (size_t k = 0; k < item->n_after; k++) {
        const struct after_cond *c = &item->after[k];
        struct after_target *t = &g->targets[i][k];
        int state = STEP_OPEN;

        if (c->kind == AFTER_SIGNAL)
            continue;
        if (c->kind == AFTER_GROUP)
            t->id = c->group;
        if ((c->kind == AFTER_GROUP ? judge_group(g, c, &state, refused, err)
                                    : judge_job(g, c, t, &state, refused, err)) != E_OK)
            return err->code;
        if (refused->code != E_OK) {
            (void)err_wrap(refused, "after[%zu]", k);
            return E_OK;
        }
        enum after_verdict verdict = step_verdict(c->on, state);

        if (verdict == AFTER_OPEN)
            add_wait(plan, g->plans[i].id, c, t);
        if (verdict == AFTER_NEVER && !plan->never) {
            plan->never = true;
            plan->lost = c->kind == AFTER_GROUP ? 0 : t->id;
            plan->why = c->kind == AFTER_GROUP ? after_why_group(g->e, t->id, state)
                                               : after_why(g->e, t->id, t->step, state);
        }
    }
    return E_OK;
}

static int by_target(const void *a, const void *b)
{
    const struct stored_wait *x = &((const struct planned_wait *)a)->row;
    const struct stored_wait *y = &((const struct planned_wait *)b)->row;

    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    return x->step != y->step ? x->step - y->step : (int)x->on - (int)y->on;
}

/* A repeated condition is stored once. */
static void drop_repeated(struct after_plan *plan)
{
    size_t kept = 0;

    if (plan->n_waits > 1)
        qsort(plan->waits, plan->n_waits, sizeof(plan->waits[0]), by_target);
    for (size_t i = 0; i < plan->n_waits; i++)
        if (kept == 0 || by_target(&plan->waits[kept - 1], &plan->waits[i]) != 0)
            plan->waits[kept++] = plan->waits[i];
    plan->n_waits = kept;
}

static void plan_signals(struct judging *g, size_t i, struct after_plan *plan)
{
    CLEANUP(names) struct names seen = NAMES_INIT;
    const struct submit_item *item = &g->items[i];
    const struct after_target none = {0};
    struct quote quote;

    for (size_t k = 0; k < item->n_after; k++) {
        const struct after_cond *c = &item->after[k];

        if (c->kind != AFTER_SIGNAL)
            continue;
        if (names_find(&seen, c->signal) != NULL) {
            err_set(&g->plans[i].refused, E_INVALID, "after[%zu]: the signal %s appears twice", k,
                    quote_text(&quote, c->signal));
            return;
        }
        names_add(&seen, c->signal, plan);
        add_wait(plan, g->plans[i].id, c, &none);
    }
}

/* The conditions as submitted, with the ids and step numbers that were found. */
static struct slice format(const struct judging *g, size_t i)
{
    CLEANUP(buf) struct buf b = BUF_INIT(OP_REPLY_MAX);
    const struct submit_item *item = &g->items[i];

    buf_add_char(&b, '[');
    for (size_t k = 0; k < item->n_after; k++) {
        jtext_add_comma(&b);
        after_cond_json(&item->after[k], g->targets[i][k].id, g->targets[i][k].step, &b);
    }
    buf_add_char(&b, ']');
    return arena_copy(&g->e->batch.arena, buf_slice(&b));
}

static enum err_code plan_item(struct judging *g, size_t i, struct after_plan *plan,
                               struct err *err)
{
    plan->waits = arena_array(&g->e->batch.arena, g->items[i].n_after, sizeof(plan->waits[0]));
    if (plan_jobs(g, i, plan, err) != E_OK)
        return err->code;
    drop_repeated(plan);
    plan_signals(g, i, plan);
    if (plan->never)
        plan->n_waits = 0;
    for (size_t k = 0; k < plan->n_waits; k++)
        plan->waits[k].row.seq = (int64_t)k;
    plan->json = format(g, i);
    return E_OK;
}

/* ---- an array ---- */

static bool any_refused(const struct judging *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->plans[i].refused.code != E_OK)
            return true;
    return false;
}

/* An array with a refused item keeps that refusal. */
static enum err_code judge_all(struct judging *g, struct after_plan *after, struct err *err)
{
    if (any_refused(g))
        return E_OK;
    if (after_find_targets(g->e, g->items, g->n, g->plans, &g->targets, err) != E_OK)
        return err->code;
    after_refuse_circles(g->items, g->n, g->plans, g->targets, &g->e->batch.arena);
    for (size_t i = 0; i < g->n; i++)
        if (g->targets[i] != NULL && plan_is_made(&g->plans[i]) &&
            plan_item(g, i, &after[i], err) != E_OK)
            return err->code;
    return E_OK;
}

static enum err_code judge(struct judging *g, struct after_plan **ret, struct err *err)
{
    struct after_plan *after = arena_array(&g->e->batch.arena, g->n, sizeof(*after));

    enum err_code code = judge_all(g, after, err);

    judging_deinit(g);
    *ret = after;
    return code;
}

enum err_code after_judge(struct engine *e, const struct submit_item *items, size_t n,
                          struct plan *plans, struct after_plan **ret, struct err *err)
{
    struct judging g = {.e = e, .items = items, .n = n, .plans = plans};

    return judge(&g, ret, err);
}

enum err_code after_make(struct engine *e, const struct after_plan *plan, struct err *err)
{
    for (size_t i = 0; i < plan->n_waits; i++) {
        struct stored_wait row = plan->waits[i].row;
        struct stored_signal signal;

        if (row.kind == AFTER_SIGNAL) {
            if (signal_get(e, plan->waits[i].signal, &signal, err) != E_OK)
                return err->code;
            row.target = signal.id;
        }
        VEC_PUSH(&e->batch.followups.new_waits, row);
    }
    if (plan->n_waits > 0 && plan->waits[0].row.kind == AFTER_SIGNAL)
        VEC_PUSH(&e->batch.followups.signal_waiters, plan->waits[0].row.waiter);
    return E_OK;
}

/* A target that was removed since the emit makes its condition impossible. */
enum err_code after_release(struct engine *e, const struct job *j, bool *ret_held,
                            struct after_never *ret_never, struct err *err)
{
    struct plan plan = {.id = j->id.v};
    struct after_plan *after = NULL;
    struct after_cond *conds = NULL;
    struct submit_item item = {0};
    struct routing routing;

    *ret_held = false;
    *ret_never = (struct after_never){.is = false};
    routing_parse(j->routing, &e->batch.arena, &routing);
    if (routing.after.size == 0)
        return E_OK;
    if (after_parse(routing.after, &e->batch.arena, &conds, &item.n_after, err) != E_OK)
        return err->code;
    item.after = conds;
    struct judging g = {.e = e, .items = &item, .n = 1, .plans = &plan, .late = true};

    if (judge(&g, &after, err) != E_OK)
        return err->code;
    ret_never->is = after[0].never || plan.refused.code != E_OK;
    ret_never->by = after[0].lost;
    *ret_held = !ret_never->is && after[0].n_waits > 0;
    if (ret_never->is)
        snprintf(ret_never->why, sizeof(ret_never->why), "%s",
                 after[0].never ? after[0].why : plan.refused.msg);
    return ret_never->is ? E_OK : after_make(e, &after[0], err);
}
