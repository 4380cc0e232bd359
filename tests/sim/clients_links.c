/*
 * Requests that tie jobs together: routes, conditions, destinations, signals, joins, topics.
 */
/* SPDX-License-Identifier: MIT */
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "sim.h"

static int some_list(struct sim *s)
{
    return chance(s, 5) == 0 ? 1 + (int)chance(s, MODEL_LISTS - 1) : 0;
}

/* In which order leases run out at the same time is not asked: what fails arrives nowhere. */
static int some_failure_list(struct sim *s)
{
    int list = some_list(s);

    return model_list_joins(list) ? 0 : list;
}

static struct slice list_json(int list)
{
    return list == 0 ? slice_make(NULL, 0) : slice_of(model_lists[list].json);
}

/* ---- routes ---- */

static struct model_step some_step(struct sim *s)
{
    return (struct model_step){.name = (int)++s->serial,
                               .queue = any_queue(s),
                               .own_retry = chance(s, 4) == 0 ? (int)chance(s, 3) : -1,
                               .params = chance(s, 3) == 0 ? ++s->serial : 0,
                               .goes_on = chance(s, 4) == 0,
                               .final = chance(s, 10) == 0,
                               .on_success = some_list(s),
                               .on_failure = some_failure_list(s)};
}

static void fill_steps(struct sim *s, struct model_routing *b)
{
    bool gaps = chance(s, 4) == 0;
    int number = 0;

    b->n_steps = 1 + (int)chance(s, 4);
    for (int i = 0; i < b->n_steps; i++) {
        b->steps[i] = some_step(s);
        number += 1 + (gaps ? (int)chance(s, 3) : 0);
        b->steps[i].number = number;
    }
    for (int i = b->n_steps; i-- > 1 && chance(s, 3) == 0;)
        b->steps[i].final = true;
}

/* Some steps were run elsewhere, but not all. */
static void fill_progress(struct sim *s, struct model_sub *sub)
{
    for (int i = 0; i < sub->routing.n_steps; i++) {
        bool told = chance(s, 6) != 0;

        if (chance(s, 2) == 0 || (i == sub->routing.n_steps - 1 && sub->n_progress == i))
            continue;
        struct model_attempt *a = &sub->progress[sub->n_progress++];

        *a = (struct model_attempt){.number = sub->routing.steps[i].number,
                                    .nth = 1,
                                    .exited = told};
        a->exit = told && chance(s, 3) == 0 ? 3 : 0;
        a->outcome = !told ? JOB_OUT_LOST : a->exit == 0 ? JOB_OUT_DONE : JOB_OUT_FAILED;
        if (chance(s, 3) == 0)
            a->set = (struct model_set){(int)chance(s, 3), ++s->serial};
        sub->routing.steps[i].skipped = told;
    }
}

static struct slice params_of(struct req *r, int64_t value)
{
    return value == 0 ? slice_make(NULL, 0) : client_text(r, "{\"p\":%lld}", (long long)value);
}

static struct slice retry_of(struct req *r, int max)
{
    return max < 0 ? slice_make(NULL, 0) : client_text(r, "{\"max\":%d}", max);
}

static struct slice set_of(struct req *r, const struct model_set *set)
{
    return set->value == 0 ? slice_make(NULL, 0)
                           : client_text(r, "{\"s%d\":%lld}", set->which, (long long)set->value);
}

static void write_steps(struct req *r, const struct model_routing *from, struct routing *b)
{
    b->steps = arena_array(&r->op.arena, (size_t)from->n_steps + 1, sizeof(*b->steps));
    b->skip = arena_array(&r->op.arena, (size_t)from->n_steps + 1, sizeof(*b->skip));
    for (int i = 0; i < from->n_steps; i++) {
        const struct model_step *step = &from->steps[i];

        b->steps[b->n_steps++] = (struct route_step){.number = step->number,
                                                     .name = client_text(r, "n%d", step->name),
                                                     .queue = queue_name(step->queue),
                                                     .params = params_of(r, step->params),
                                                     .retry = retry_of(r, step->own_retry),
                                                     .on_error = step->goes_on ? STEP_CONTINUE
                                                                               : STEP_STOP,
                                                     .final = step->final,
                                                     .on_success = list_json(step->on_success),
                                                     .on_failure = list_json(step->on_failure)};
        if (step->skipped)
            b->skip[b->n_skip++] = step->number;
    }
}

static void write_progress(struct req *r, const struct model_sub *sub, struct submit_item *item)
{
    struct route_status *list = arena_array(&r->op.arena, MODEL_STEPS, sizeof(*list));

    for (int i = 0; i < sub->n_progress; i++)
        list[i] = (struct route_status){.number = sub->progress[i].number,
                                        .has_status = sub->progress[i].exited,
                                        .status = sub->progress[i].exit,
                                        .set = set_of(r, &sub->progress[i].set)};
    item->progress = list;
    item->n_progress = (size_t)sub->n_progress;
}

/* The job begins with the first step that has no status. */
static void write_route(struct req *r, struct model_sub *sub, struct submit_item *item,
                        struct routing *b)
{
    write_steps(r, &sub->routing, b);
    if (b->n_steps == 0)
        return;
    const struct route_step *first = route_first(b);

    b->options = item->options;
    sub->queue = model_step_next(&sub->routing, 0, false)->queue;
    sub->step = item->step = first->number;
    item->queue = first->queue;
    item->options = route_options(b, first, &r->op.arena);
    item->step_params = first->params;
    write_progress(r, sub, item);
}

/* ---- conditions ---- */

static void some_signal_cond(struct sim *s, const struct model_routing *b, struct model_cond *c)
{
    *c = (struct model_cond){.kind = AFTER_SIGNAL,
                             .signal = (int)chance(s, MODEL_SIGNALS),
                             .count = 1 + (int64_t)chance(s, 4),
                             .take = chance(s, 2) == 0};
    for (int i = 0; i < b->n_conds; i++)
        if (b->conds[i].kind == AFTER_SIGNAL && b->conds[i].signal == c->signal)
            c->kind = AFTER_JOB; /* each stands once: this one is not said */
}

static int some_step_of(struct sim *s, const struct model_routing *b)
{
    if (chance(s, 30) == 0)
        return 4711;
    return b->n_steps > 0 && chance(s, 2) == 0 ? b->steps[chance(s, (uint64_t)b->n_steps)].number
                                               : 0;
}

static bool some_job_cond(struct sim *s, const struct req *r, size_t item, size_t n,
                          struct model_cond *c)
{
    static const enum after_on ons[] = {AFTER_SUCCESS, AFTER_SUCCESS, AFTER_FAILURE, AFTER_END,
                                        AFTER_END};
    const struct model_job *j = any_job(s);

    *c = (struct model_cond){.kind = AFTER_JOB, .on = ons[chance(s, 5)]};
    if (item > 0 && n > 1 &&
        chance(s, 2) == 0) { /* jobs of an array come after those before them */
        c->ref = 1 + (int)chance(s, item);
        c->step = some_step_of(s, &r->subs[c->ref - 1].routing);
        return true;
    }
    if (n > 1 && chance(s, 40) == 0) {
        c->ref = (int)item + 1; /* for ever */
        return true;
    }
    if (r->owner != 0 && chance(s, 2) == 0)
        j = model_find(&s->model, r->owner);
    if (j == NULL)
        return false;
    c->job = chance(s, 40) == 0 ? 4711 : j->id;
    c->step = some_step_of(s, &j->routing);
    return true;
}

static void fill_conds(struct sim *s, struct req *r, size_t item, size_t n)
{
    struct model_routing *b = &r->subs[item].routing;

    for (uint64_t left = 1 + chance(s, MODEL_CONDS - 1); left > 0; left--) {
        struct model_cond c;

        if (chance(s, 3) == 0)
            some_signal_cond(s, b, &c);
        else if (!some_job_cond(s, r, item, n, &c))
            continue;
        if (c.kind == AFTER_SIGNAL || c.job != 0 || c.ref != 0)
            b->conds[b->n_conds++] = c;
    }
}

static struct slice name_of_step(struct sim *s, struct req *r, const struct model_cond *c)
{
    const struct model_job *j = c->ref > 0 ? NULL : model_find(&s->model, c->job);
    const struct model_step *step = NULL;

    if (c->step == 0)
        return slice_make(NULL, 0);
    if (c->ref > 0 && r->subs[c->ref - 1].key < 0) /* else it may be another job than it says */
        step = model_step_find(&r->subs[c->ref - 1].routing, c->step);
    else if (j != NULL)
        step = model_step_find(&j->routing, c->step);
    return step != NULL && chance(s, 2) == 0 ? client_text(r, "n%d", step->name)
                                             : client_text(r, "%d", c->step);
}

static void write_conds(struct sim *s, struct req *r, size_t i)
{
    const struct model_routing *b = &r->subs[i].routing;
    struct after_cond *list = arena_array(&r->op.arena, MODEL_CONDS, sizeof(*list));

    for (int k = 0; k < b->n_conds; k++) {
        const struct model_cond *c = &b->conds[k];

        list[k] = (struct after_cond){.kind = c->kind,
                                      .on = c->on,
                                      .job = c->job,
                                      .step = name_of_step(s, r, c),
                                      .count = c->count,
                                      .take = c->take};
        if (c->kind == AFTER_SIGNAL)
            list[k].signal = slice_of(model_signal_names[c->signal]);
        if (c->ref > 0)
            list[k].ref = client_text(r, "r%d", c->ref);
    }
    r->items[i].after = list;
    r->items[i].n_after = (size_t)b->n_conds;
    r->items[i].ref = client_text(r, "r%zu", i + 1);
}

void client_fill_routing(struct sim *s, struct req *r, size_t i, size_t n)
{
    struct model_sub *sub = &r->subs[i];
    struct routing routing = {0};

    sub->routing.own_retry = sub->own_retry;
    sub->redo = r->items[i].redo = r->op.kind == OP_SUBMIT && sub->key >= 0 && chance(s, 3) == 0;
    if (sub->queue >= 0 && chance(s, 3) == 0)
        fill_steps(s, &sub->routing);
    if (sub->routing.n_steps > 1 && chance(s, 4) == 0)
        fill_progress(s, sub);
    sub->routing.on_success = some_list(s);
    sub->routing.on_failure = some_failure_list(s);
    if (chance(s, 4) == 0)
        fill_conds(s, r, i, n);
    write_route(r, sub, &r->items[i], &routing);
    routing.on_success = list_json(sub->routing.on_success);
    routing.on_failure = list_json(sub->routing.on_failure);
    if (routing_size(&routing) > 0) {
        struct routing *own = arena_alloc(&r->op.arena, sizeof(*own));

        *own = routing;
        r->items[i].routing = own;
    }
    write_conds(s, r, i);
}

/* ---- what an attempt brings ---- */

static struct slice added_json(struct req *r, const struct gained *g)
{
    CLEANUP(buf) struct buf b = BUF_INIT(4096);

    buf_add_char(&b, '[');
    for (int i = 0; i < g->n_steps; i++) {
        const struct model_step *step = &g->steps[i];

        jtext_add_comma(&b);
        buf_addf(&b, "{\"name\":\"n%d\",\"queue\":\"%s\"", step->name,
                 model_queue_names[step->queue]);
        if (step->params != 0)
            buf_addf(&b, ",\"params\":{\"p\":%lld}", (long long)step->params);
        if (step->own_retry >= 0)
            buf_addf(&b, ",\"retry\":{\"max\":%d}", step->own_retry);
        if (step->goes_on)
            buf_add_str(&b, ",\"on_error\":\"continue\"");
        if (step->final)
            buf_add_str(&b, ",\"final\":true");
        if (step->on_success != 0)
            buf_addf(&b, ",\"on_success\":%s", model_lists[step->on_success].json);
        if (step->on_failure != 0)
            buf_addf(&b, ",\"on_failure\":%s", model_lists[step->on_failure].json);
        buf_add_char(&b, '}');
    }
    buf_add_char(&b, ']');
    return arena_copy(&r->op.arena, buf_slice(&b));
}

static void add_some_steps(struct sim *s, struct req *r, size_t i)
{
    const struct model_job *j = model_find(&s->model, r->finish[i].id);
    struct gained *g = &r->gains[i];

    if (j == NULL || chance(s, j->step > 0 ? 5 : 60) != 0 || j->routing.n_steps > MODEL_STEPS - 2)
        return;
    g->n_steps = 1 + (int)chance(s, 2);
    for (int k = 0; k < g->n_steps; k++) {
        g->steps[k] = some_step(s);
        g->steps[k].final = false;
    }
    r->finish[i].steps = added_json(r, g);
}

void client_fill_gain(struct sim *s, struct req *r, size_t i)
{
    struct finish_item *f = &r->finish[i];
    struct gained *g = &r->gains[i];

    *g = (struct gained){.signal = -1};
    if (chance(s, 3) == 0)
        g->set = (struct model_set){(int)chance(s, 3), ++s->serial};
    f->set = set_of(r, &g->set);
    if (chance(s, 4) == 0) {
        snprintf(g->result, sizeof(g->result), "[%lld]", (long long)++s->serial);
        f->result = slice_of(g->result);
    }
    if (f->outcome != JOB_OUT_DONE)
        return;
    add_some_steps(s, r, i);
    if (chance(s, 8) != 0)
        return;
    struct signal_raise_item *raise = arena_array(&r->op.arena, 1, sizeof(*raise));

    g->signal = (int)chance(s, MODEL_SIGNALS);
    g->raised = 1 + (int64_t)chance(s, 3);
    *raise = (struct signal_raise_item){slice_of(model_signal_names[g->signal]), g->raised};
    f->raises = raise;
    f->n_raises = 1;
}

/* ---- signals, joins, topics ---- */

static struct req *make_signal(struct sim *s)
{
    struct req *r = req_new(s, OP_SIGNAL);

    r->link = (int)chance(s, MODEL_SIGNALS);
    r->op.signal = (struct signal_op){.kind = chance(s, 5) == 0 ? SIGNAL_OP_CLEAR : SIGNAL_OP_RAISE,
                                      .name = slice_of(model_signal_names[r->link]),
                                      .count = 1 + (int64_t)chance(s, 4)};
    return r;
}

static struct slice some_params(struct sim *s, struct req *r)
{
    const char *key = model_join_keys[chance(s, MODEL_JOIN_KEYS)];

    if (chance(s, 6) == 0)
        snprintf(r->params, sizeof(r->params), "{\"m\":%lld}", (long long)++s->serial);
    else
        snprintf(r->params, sizeof(r->params), "{\"m\":%lld,\"k\":\"%s\"}", (long long)++s->serial,
                 key);
    return slice_of(r->params);
}

static struct req *make_join(struct sim *s)
{
    struct req *r = req_new(s, OP_JOIN);

    r->link = (int)chance(s, MODEL_JOINS);
    r->queue = (int)chance(s, MODEL_JOIN_KEYS);
    r->op.join = (struct join_op){.kind = chance(s, 8) == 0 ? JOIN_OP_CLEAR : JOIN_OP_ARRIVE,
                                  .name = slice_of(model_join_names[r->link]),
                                  .params = some_params(s, r),
                                  .key = slice_of(model_join_keys[r->queue]),
                                  .has_key = chance(s, 2) == 0};
    return r;
}

static struct req *make_publish(struct sim *s)
{
    struct req *r = req_new(s, OP_PUBLISH);

    r->link = (int)chance(s, MODEL_TOPICS);
    r->op.publish = (struct publish){.topic = slice_of(model_topic_names[r->link]),
                                     .params = some_params(s, r),
                                     .priority = (int)chance(s, 3)};
    return r;
}

struct req *client_link(struct sim *s)
{
    uint64_t what = chance(s, 10);

    if (what < 4)
        return make_signal(s);
    return what < 8 || s->model.n_jobs > 90 ? make_join(s) : make_publish(s);
}
