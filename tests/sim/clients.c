/*
 * Requests as clients and workers make them: mostly sensible, sometimes late, repeated or wrong.
 */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>

#include "base/jtext/jtext.h"
#include "sim.h"

/* ---- requests ---- */

static void on_done(struct op *op)
{
    struct req *r = op->owner;

    r->answered = true;
    r->unknown = r->sim->dead;
}

static bool is_alive(struct op *op)
{
    const struct req *r = op->owner;

    return !r->gone;
}

struct req *req_new(struct sim *s, enum op_kind kind)
{
    struct req *r = mem_zalloc(sizeof(*r));

    op_init(&r->op, kind);
    r->op.done = on_done;
    r->op.alive = is_alive;
    r->op.owner = r;
    r->sim = s;
    r->reply_lost = chance(s, 12) == 0;
    return r;
}

void req_free(struct req *r)
{
    op_deinit(&r->op);
    free(r);
}

struct slice client_text(struct req *r, const char *fmt, ...)
{
    char text[96];
    va_list args;

    va_start(args, fmt);
    int size = vsnprintf(text, sizeof(text), fmt, args);

    va_end(args);
    return arena_copy(&r->op.arena, slice_make(text, (size_t)size));
}

/* ---- choices ---- */

/* False for a job that retention may remove in this run: either answer would be right. */
bool is_target(const struct sim *s, const struct model_job *j)
{
    return !model_expired(&s->model, j, s->now.wall_at + US_PER_MIN);
}

struct model_job *any_job(struct sim *s)
{
    for (int i = 0; i < 8 && s->model.n_jobs > 0; i++) {
        struct model_job *j = &s->model.jobs[chance(s, s->model.n_jobs)];

        if (is_target(s, j))
            return j;
    }
    return NULL;
}

static struct model_job *any_job_in(struct sim *s, unsigned states)
{
    size_t from = s->model.n_jobs == 0 ? 0 : chance(s, s->model.n_jobs);

    for (size_t i = 0; i < s->model.n_jobs; i++) {
        struct model_job *j = &s->model.jobs[(from + i) % s->model.n_jobs];

        if ((states & 1U << j->state) && is_target(s, j))
            return j;
    }
    return NULL;
}

int any_queue(struct sim *s)
{
    return (int)chance(s, MODEL_QUEUES);
}

struct slice queue_name(int queue)
{
    return slice_of(model_queue_names[queue]);
}

int64_t some_delay(struct sim *s)
{
    static const int64_t delays[] = {1, US_PER_S, 3 * US_PER_S, 20 * US_PER_S, 2 * US_PER_MIN};

    return delays[chance(s, sizeof(delays) / sizeof(delays[0]))];
}

static int some_priority(struct sim *s)
{
    static const int priorities[] = {0, 0, 0, 0, 0, 1, -1, 5, -1000, 1000};

    return priorities[chance(s, sizeof(priorities) / sizeof(priorities[0]))];
}

/* ---- submit ---- */

void client_fill_sub(struct sim *s, struct req *r, size_t i)
{
    struct model_sub *sub = &r->subs[i];
    struct submit_item *item = &r->items[i];
    int queue = any_queue(s);

    *sub = (struct model_sub){.queue = queue,
                              .key = chance(s, 3) == 0 ? (int)chance(s, MODEL_KEYS) : -1,
                              .label = (int)chance(s, MODEL_LABELS + 1) - 1,
                              .own_retry = chance(s, 6) == 0 ? (int)chance(s, 3) : -1,
                              .priority = some_priority(s),
                              .content = chance(s, 6) == 0 ? 2 : 1};
    if (sub->key >= 0 && s->model.keys[sub->key].job != 0 &&
        !is_target(s, model_find(&s->model, s->model.keys[sub->key].job)))
        sub->key = -1;
    if (chance(s, 5) == 0)
        sub->delay_us = some_delay(s);
    else if (chance(s, 12) == 0)
        sub->due_at = s->now.wall_at + (int64_t)chance(s, (uint64_t)US_PER_MIN) - 10 * US_PER_S;
    if (chance(s, 4) == 0)
        snprintf(sub->params, sizeof(sub->params), "{\"m\":%lld}", (long long)++s->serial);
    else
        snprintf(sub->params, sizeof(sub->params), "{\"m\":%lld,\"k\":\"%c\"}",
                 (long long)++s->serial, 'a' + (char)chance(s, 3));
    *item = (struct submit_item){.queue = queue_name(queue),
                                 .params = arena_copy(&r->op.arena, slice_of(sub->params)),
                                 .content = sub->content,
                                 .priority = sub->priority,
                                 .delay_us = sub->delay_us,
                                 .due_at = sub->due_at};
    if (chance(s, 20) == 0) {
        item->queue = SLICE("alpa");
        sub->queue = -1;
    }
    if (sub->key >= 0)
        item->key = client_text(r, "key-%d", sub->key);
    if (sub->label >= 0)
        item->labels = client_text(r, "{\"l\":\"%d\"}", sub->label);
    if (sub->own_retry >= 0)
        item->options = client_text(r, "{\"retry\":{\"max\":%d}}", sub->own_retry);
    if (chance(s, 8) == 0)
        item->body = SLICE("a body\n");
}

static struct req *make_submit(struct sim *s)
{
    struct req *r = req_new(s, OP_SUBMIT);
    uint64_t how = chance(s, 6);
    size_t n = how < 3 ? 1 : 1 + chance(s, SIM_ITEMS);

    for (size_t i = 0; i < n; i++) {
        client_fill_sub(s, r, i);
        client_fill_routing(s, r, i, how == 3 || how == 4 ? n : 1);
    }
    r->op.submit = (struct submit){.mode = how < 3   ? SUBMIT_ONE
                                           : how < 5 ? SUBMIT_ARRAY
                                                     : SUBMIT_LINES,
                                   .items = r->items,
                                   .n_items = n,
                                   .first_line = 1};
    return r;
}

/* ---- what people do ---- */

static void fill_patch(struct sim *s, struct req *r)
{
    struct job_action *act = &r->op.action;

    if (chance(s, 2) == 0) {
        act->has_due = r->action.has_due = true;
        act->due_at = chance(s, 4) == 0
                          ? 0
                          : s->now.wall_at + (int64_t)chance(s, 60) * US_PER_S - 5 * US_PER_S;
        r->action.due_at = act->due_at;
    }
    if (chance(s, 2) == 0) {
        act->has_priority = r->action.has_priority = true;
        act->priority = r->action.priority = some_priority(s);
    }
    if (chance(s, 3) == 0) {
        snprintf(r->params, sizeof(r->params), "{\"m\":%lld}", (long long)++s->serial);
        r->action.params = r->params;
        act->params = slice_of(r->params);
    }
    if (chance(s, 4) == 0) {
        r->action.label = (int)chance(s, MODEL_LABELS);
        act->labels = client_text(r, "{\"l\":\"%d\"}", r->action.label);
    }
}

/* The step to go on from, by its number or name. */
static void fill_from(struct sim *s, struct req *r, const struct model_job *j)
{
    if (j->routing.n_steps == 0 || chance(s, 20) == 0) {
        r->action.from = -1;
        r->op.action.from = SLICE("none such");
        return;
    }
    const struct model_step *step = &j->routing.steps[chance(s, (uint64_t)j->routing.n_steps)];

    r->action.from = step->number;
    r->op.action.from = chance(s, 2) == 0 ? client_text(r, "n%d", step->name)
                                          : client_text(r, "%d", step->number);
}

static struct req *make_act(struct sim *s)
{
    static const unsigned waiting = 1U << JOB_HELD | 1U << JOB_SCHEDULED | 1U << JOB_READY;
    static const unsigned ended = 1U << JOB_DONE | 1U << JOB_FAILED | 1U << JOB_CANCELLED;
    static const unsigned wants[ACTION_COUNT] = {
        [ACTION_CANCEL] = 1U << JOB_RUNNING | waiting,
        [ACTION_RETRY] = ended,
        [ACTION_HOLD] = waiting,
        [ACTION_RELEASE] = 1U << JOB_HELD,
        [ACTION_NOW] = 1U << JOB_SCHEDULED | 1U << JOB_HELD,
        [ACTION_MOVE] = waiting,
        [ACTION_PATCH] = waiting,
        [ACTION_DELETE] = ended | waiting,
        [ACTION_CLONE] = ended | waiting | 1U << JOB_RUNNING};
    struct req *r = req_new(s, OP_ACTION);
    enum job_action_kind kind = (enum job_action_kind)chance(s, ACTION_COUNT);
    struct model_job *j = chance(s, 4) == 0 ? any_job(s) : any_job_in(s, wants[kind]);

    /* It may be let go before or after. */
    if (j != NULL && j->waiting && (s->links.left || s->links.n_follows > 0))
        j = NULL;
    if (j != NULL && kind == ACTION_RETRY && j->n_record > MODEL_RECORD_MAX / 3)
        kind = ACTION_DELETE;
    r->op.action = (struct job_action){.kind = kind,
                                       .id = j == NULL || chance(s, 40) == 0 ? 4711 : j->id,
                                       .alone = true}; /* see client_resume */
    r->action = (struct model_act){
        .kind = kind, .target = -1, .label = -1, .alone = true, .now_at = s->now.wall_at};
    if (kind == ACTION_MOVE) {
        r->action.target = chance(s, 30) == 0 ? -1 : any_queue(s);
        r->op.action.queue = r->action.target < 0 ? SLICE("no such") : queue_name(r->action.target);
    } else if (kind == ACTION_PATCH) {
        fill_patch(s, r);
    } else if (j != NULL && (kind == ACTION_CLONE || (kind == ACTION_RETRY && chance(s, 2) == 0))) {
        r->action.member = kind == ACTION_CLONE ? "c" : chance(s, 3) == 0 ? "s0" : "r";
        r->action.value = ++s->serial;
        r->op.action.params = client_text(r, "{\"%s\":%lld}", r->action.member,
                                          (long long)r->action.value);
    }
    if (j != NULL && kind == ACTION_RETRY && chance(s, j->step > 0 ? 2 : 30) == 0)
        fill_from(s, r, j);
    return r;
}

/* Those who were cancelled with it come back at the end of the batch: it is the only request of its
 * own, so that nobody asks meanwhile in which state they are. */
struct req *client_resume(struct sim *s)
{
    static const unsigned ended = 1U << JOB_DONE | 1U << JOB_FAILED | 1U << JOB_CANCELLED;
    struct model_job *j = any_job_in(s, chance(s, 3) == 0 ? ended : 1U << JOB_FAILED);
    size_t in_vain = 0;

    for (size_t i = 0; i < s->model.n_jobs; i++) {
        in_vain += s->model.jobs[i].in_vain;
        if (s->model.jobs[i].in_vain && chance(s, 2) == 0)
            j = model_find(&s->model, s->model.jobs[i].hangs_on);
    }
    if (j == NULL || !job_state_ended(j->state) || j->n_record > MODEL_RECORD_MAX / 3 ||
        s->links.left || s->model.n_work > 0 || in_vain * 4 > world_settle_rows(s))
        return NULL;
    struct req *r = req_new(s, OP_ACTION);

    r->op.action = (struct job_action){.kind = ACTION_RETRY, .id = j->id};
    r->action = (struct model_act){
        .kind = ACTION_RETRY, .target = -1, .label = -1, .now_at = s->now.wall_at};
    return r;
}

static struct req *make_bulk(struct sim *s)
{
    static const enum job_action_kind kinds[] = {ACTION_CANCEL,  ACTION_RETRY,  ACTION_HOLD,
                                                 ACTION_RELEASE, ACTION_NOW,    ACTION_MOVE,
                                                 ACTION_DELETE,  ACTION_RELEASE};
    struct req *r = req_new(s, OP_BULK);
    struct model_work *w = &r->work;

    *w = (struct model_work){.kind = kinds[chance(s, 8)],
                             .queue = chance(s, 2) == 0 ? any_queue(s) : -1,
                             .label = chance(s, 3) == 0 ? (int)chance(s, MODEL_LABELS) : -1,
                             .target = -1};
    if (chance(s, 2) == 0)
        w->states = 1U << (JOB_HELD + chance(s, JOB_CANCELLED - JOB_HELD + 1)) | 1U << JOB_FAILED;
    if (w->kind == ACTION_DELETE && chance(s, 2) == 0)
        w->before_at = s->now.wall_at - (int64_t)chance(s, 300) * US_PER_S;
    r->op.bulk = (struct bulk){.kind = w->kind,
                               .alone = true, /* see client_resume */
                               .filter = {.states = w->states, .ended_before_at = w->before_at}};
    if (w->queue >= 0)
        r->op.bulk.filter.queue = queue_name(w->queue);
    if (w->label >= 0)
        r->op.bulk.filter.labels = client_text(r, "{\"l\":\"%d\"}", w->label);
    if (w->kind == ACTION_MOVE) {
        w->target = any_queue(s);
        r->op.bulk.queue = queue_name(w->target);
    }
    return r;
}

static void fill_put(struct sim *s, struct req *r, size_t i, int queue, int def)
{
    r->put_queue[i] = queue;
    r->put_def[i] = def;
    r->put_links[i] = s->step < 2 ? 0 : (int)chance(s, MODEL_LINKS);
    r->puts[i] = (struct definition_put){.name = queue_name(queue),
                                         .definition = slice_of(
                                             model_def_json(queue, def, r->put_links[i]))};
}

static void fill_joins(struct sim *s, struct req *r)
{
    struct definition_puts *puts = &r->op.define.puts[DEFINITION_JOIN];

    for (int i = 0; i < MODEL_JOINS; i++) {
        if (s->step >= 2 && chance(s, 3) == 0)
            continue;
        size_t at = puts->count++;

        r->put_join[at] = i;
        r->put_count[at] = 2 + (int)chance(s, MODEL_JOIN_COUNT - 1);
        r->joins[at] = (struct definition_put){.name = slice_of(model_join_names[i]),
                                               .definition = slice_of(
                                                   model_join_json(i, r->put_count[at]))};
    }
    puts->items = r->joins;
}

static struct req *make_queue(struct sim *s)
{
    static const enum queue_state states[] = {QUEUE_UP,    QUEUE_UP,    QUEUE_UP,
                                              QUEUE_PAUSE, QUEUE_DRAIN, QUEUE_DOWN};
    uint64_t what = chance(s, 12);
    bool puts = what < 4;
    bool removes = what == 9;
    struct req *r = req_new(s, puts || removes ? OP_DEFINE : OP_QUEUE);
    struct define *o = &r->op.define;

    r->queue = any_queue(s);
    enum queue_state state = states[chance(s, 6)];

    if (removes)
        *o = (struct define){.removes = true,
                             .kind = DEFINITION_QUEUE,
                             .name = queue_name(r->queue)};
    else if (!puts)
        r->op.queue = (struct queue_op){.kind = what < 9 ? QUEUE_OP_STATE : QUEUE_OP_RESTART,
                                        .name = queue_name(r->queue),
                                        .state = state};
    if (!puts)
        return r;
    size_t n = 1 + chance(s, 2);

    o->puts[DEFINITION_QUEUE] = (struct definition_puts){r->puts, n};
    o->dry_run = chance(s, 10) == 0;
    o->prune = chance(s, 10) == 0;
    for (size_t i = 0; i < n; i++)
        fill_put(s, r, i, (r->queue + (int)i) % MODEL_QUEUES, (int)chance(s, MODEL_DEFS));
    if (chance(s, 3) == 0)
        fill_joins(s, r);
    return r;
}

static struct req *make_wait(struct sim *s)
{
    struct req *r = req_new(s, OP_WAIT);
    const struct model_job *j = any_job(s);

    r->op.wait = (struct job_wait){.id = j == NULL ? 4711 : j->id,
                                   .wait_us = (int64_t)chance(s, 61) * US_PER_S};
    return r;
}

/* In the first steps there are no queues but the built-in one: somebody defines them. */
static struct req *make_first_queues(struct sim *s)
{
    struct req *r = req_new(s, OP_DEFINE);

    r->op.define.puts[DEFINITION_QUEUE] = (struct definition_puts){r->puts, 2};
    for (size_t i = 0; i < 2; i++)
        fill_put(s, r, i, (int)i + s->step % 2 * 2, (int)chance(s, MODEL_DEFS - 1));
    if (s->step == 1)
        fill_joins(s, r);
    return r;
}

struct req *client_request(struct sim *s)
{
    uint64_t what = chance(s, 100);

    if (s->step < 2)
        return make_first_queues(s);
    if (what < 18 && s->model.n_jobs < 70)
        return make_submit(s);
    if (what < 41)
        return worker_claim(s);
    if (what < 59)
        return worker_finish(s);
    if (what < 63)
        return worker_touch(s);
    if (what < 71)
        return worker_emit(s);
    if (what < 86)
        return make_act(s);
    if (what < 88)
        return s->model.n_work < MODEL_WORK_MAX / 2 ? make_bulk(s) : make_act(s);
    if (what < 92)
        return make_queue(s);
    if (what < 95)
        return worker_log(s);
    return what < 98 ? client_link(s) : make_wait(s);
}

struct req *client_nothing(struct sim *s, enum op_kind kind)
{
    struct req *r = req_new(s, kind);

    r->reply_lost = false;
    return r;
}
