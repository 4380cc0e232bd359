/*
 * Requests as clients and workers make them: mostly sensible, sometimes late, repeated or wrong.
 */
/* SPDX-License-Identifier: MIT */
#include <stdarg.h>

#include "base/json.h"
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

static struct req *req_new(struct sim *s, enum op_kind kind)
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

PRINTF_LIKE(2, 3) static struct slice own_text(struct req *r, const char *fmt, ...)
{
    char text[96];
    va_list args;

    va_start(args, fmt);
    int size = vsnprintf(text, sizeof(text), fmt, args);

    va_end(args);
    return arena_copy(&r->op.arena, slice_make(text, (size_t)size));
}

/* ---- choices ---- */

/* Jobs that retention may take in this very run are nobody's target: either answer would be right. */
static bool is_target(const struct sim *s, const struct model_job *j)
{
    return !model_expired(&s->model, j, s->now.wall_at + US_PER_MIN);
}

static struct model_job *any_job(struct sim *s)
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

static int any_queue(struct sim *s)
{
    return (int)chance(s, MODEL_QUEUES);
}

static struct slice queue_name(int queue)
{
    return slice_of(model_queue_names[queue]);
}

static int64_t some_delay(struct sim *s)
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

static void fill_sub(struct sim *s, struct req *r, size_t i)
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
    snprintf(sub->params, sizeof(sub->params), "{\"m\":%lld}", (long long)++s->serial);
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
        item->key = own_text(r, "key-%d", sub->key);
    if (sub->label >= 0)
        item->labels = own_text(r, "{\"l\":\"%d\"}", sub->label);
    if (sub->own_retry >= 0)
        item->options = own_text(r, "{\"retry\":{\"max\":%d}}", sub->own_retry);
    if (chance(s, 8) == 0)
        item->body = SLICE("a body\n");
}

static struct req *make_submit(struct sim *s)
{
    struct req *r = req_new(s, OP_SUBMIT);
    uint64_t how = chance(s, 6);
    size_t n = how < 3 ? 1 : 1 + chance(s, SIM_ITEMS);

    for (size_t i = 0; i < n; i++)
        fill_sub(s, r, i);
    r->op.submit = (struct submit){.mode = how < 3   ? SUBMIT_ONE
                                           : how < 5 ? SUBMIT_ARRAY
                                                     : SUBMIT_LINES,
                                   .items = r->items,
                                   .n_items = n,
                                   .first_line = 1};
    return r;
}

/* ---- what workers do ---- */

void worker_holds(struct sim *s, int worker, int64_t id, int64_t token)
{
    if (s->n_held[worker] == SIM_HELD) { /* it forgets the oldest */
        memmove(&s->held[worker][0], &s->held[worker][1], (SIM_HELD - 1) * sizeof(struct held));
        s->n_held[worker]--;
    }
    s->held[worker][s->n_held[worker]++] = (struct held){id, token};
}

/* A lease the worker believes in, or a made-up one. */
static struct held some_lease(struct sim *s, int worker, bool *ret_made_up)
{
    const struct model_job *j = any_job(s);

    *ret_made_up = s->n_held[worker] == 0 || chance(s, 25) == 0;
    if (!*ret_made_up)
        return s->held[worker][chance(s, s->n_held[worker])];
    if (j == NULL || chance(s, 3) == 0)
        return (struct held){.id = 4711, .token = 4712};
    return (struct held){.id = j->id, .token = chance(s, 2) == 0 ? j->id : j->token + 1};
}

static enum job_outcome some_outcome(struct sim *s, int64_t id)
{
    static const enum job_outcome outcomes[] = {JOB_OUT_DONE,     JOB_OUT_DONE,   JOB_OUT_DONE,
                                                JOB_OUT_FAILED,   JOB_OUT_FAILED, JOB_OUT_FAILED,
                                                JOB_OUT_LATER,    JOB_OUT_LATER,  JOB_OUT_RETURNED,
                                                JOB_OUT_CANCELLED};
    const struct model_job *j = model_find(&s->model, id);

    if (j != NULL && j->n_record > MODEL_RECORD_MAX / 2)
        return JOB_OUT_DONE;
    return outcomes[chance(s, sizeof(outcomes) / sizeof(outcomes[0]))];
}

static bool is_named(const struct req *r, size_t n, int64_t id)
{
    for (size_t i = 0; i < n; i++)
        if (r->finish[i].id == id)
            return true;
    return false;
}

static void fill_finish(struct sim *s, struct req *r, size_t *n)
{
    bool made_up;
    struct held lease = some_lease(s, r->worker, &made_up);
    const struct model_job *j = model_find(&s->model, lease.id);
    enum job_outcome outcome = some_outcome(s, lease.id);

    if (is_named(r, *n, lease.id) || (j != NULL && !is_target(s, j)))
        return;
    /* Requests of one batch came at the same time: which of two different ones is first is open. */
    for (size_t i = 0; i < s->n_batch; i++)
        if (s->batch[i]->op.kind == OP_EXCHANGE &&
            is_named(s->batch[i], s->batch[i]->op.exchange.n_finish, lease.id))
            return;
    /* A repetition says the same again; a confused worker says something else. */
    if (j != NULL && model_outcome(j, lease.token) != JOB_OUT_NONE && chance(s, 4) != 0)
        outcome = model_outcome(j, lease.token);
    if (outcome == JOB_OUT_LOST)
        outcome = JOB_OUT_DONE;
    /* The same for successes and failures of a queue that counts failures in a row. */
    if (j != NULL && model_def_of(&s->model, j)->stop_after > 0 &&
        outcome == (s->step % 4 == 0 ? JOB_OUT_FAILED : JOB_OUT_DONE))
        return;
    struct finish_item *f = &r->finish[(*n)++];

    *f = (struct finish_item){.id = lease.id, .token = lease.token, .outcome = outcome};
    f->exited = outcome == JOB_OUT_FAILED && chance(s, 2) == 0;
    f->exit = f->exited ? (chance(s, 3) == 0 ? 75 : chance(s, 4) == 0 ? 70 : 1) : 0;
    f->final = outcome == JOB_OUT_FAILED && chance(s, 10) == 0;
    f->delayed = (outcome == JOB_OUT_LATER && chance(s, 12) != 0) ||
                 (outcome == JOB_OUT_FAILED && chance(s, 10) == 0);
    f->delay_us = f->delayed ? (chance(s, 6) == 0 ? 0 : some_delay(s)) : 0;
    f->has_text = chance(s, 2) == 0;
    f->text = f->has_text ? SLICE("how it went") : slice_make(NULL, 0);
    f->set = chance(s, 4) == 0 ? SLICE("{\"s\":1}") : slice_make(NULL, 0);
    f->result = chance(s, 4) == 0 ? SLICE("[1]") : slice_make(NULL, 0);
}

static size_t fill_finishes(struct sim *s, struct req *r, size_t want)
{
    size_t n = 0;

    for (size_t i = 0; i < want; i++)
        fill_finish(s, r, &n);
    return n;
}

static void add_touch(struct sim *s, struct req *r, size_t *n, struct held lease)
{
    struct touch_item *t = &r->touch[(*n)++];

    *t = (struct touch_item){.id = lease.id, .token = lease.token};
    if (chance(s, 3) == 0) {
        t->has_text = true;
        t->text = SLICE("at it");
    }
    if (chance(s, 3) == 0) {
        t->has_done = true;
        t->done = (int64_t)chance(s, 100);
        t->total = 100;
    }
}

static size_t fill_touches(struct sim *s, struct req *r, size_t want)
{
    size_t n = 0;
    bool made_up;

    for (size_t i = 0; i < want; i++)
        add_touch(s, r, &n, some_lease(s, r->worker, &made_up));
    return n;
}

/* Everything the worker believes it holds, but for what it finishes in this request. */
static size_t touch_all(struct sim *s, struct req *r, size_t n_finish)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_held[r->worker]; i++)
        if (!is_named(r, n_finish, s->held[r->worker][i].id))
            add_touch(s, r, &n, s->held[r->worker][i]);
    return n;
}

static struct worker_info info_of(int worker)
{
    static const char *const names[MODEL_WORKERS] = {"box-a", "box-b", "box-c", "box-d", ""};

    return (struct worker_info){.name = slice_of(names[worker]), .host = SLICE("h"), .pid = 7};
}

static void add_claim_queue(struct sim *s, struct req *r, int queue, int max)
{
    size_t k = r->claim.n_queues++;

    r->queues[k] = (struct claim_queue){.name = queue_name(queue), .max = max};
    r->claim.queues[k] = queue;
    r->claim.left[k] = max;
    r->bad_queue = r->bad_queue || !s->model.queues[queue].there;
}

static void fill_queues(struct sim *s, struct req *r)
{
    int first = any_queue(s);
    size_t n = 1 + chance(s, 3);

    for (int i = 0; i < MODEL_QUEUES && r->claim.n_queues < n; i++) {
        int queue = (first + i) % MODEL_QUEUES;

        if (s->model.queues[queue].there || chance(s, 40) == 0)
            add_claim_queue(s, r, queue, 1 + (int)chance(s, 4));
    }
}

static struct req *make_claim(struct sim *s)
{
    static const int64_t leases[] = {1, 1, 5, 5, 20, 60, 3600};
    struct req *r = req_new(s, OP_EXCHANGE);

    r->worker = (int)chance(s, MODEL_WORKERS);
    size_t n_finish = chance(s, 3) == 0 ? fill_finishes(s, r, 1 + chance(s, 3)) : 0;
    bool all = chance(s, 8) == 0;
    size_t n_touch = all                 ? touch_all(s, r, n_finish)
                     : chance(s, 4) == 0 ? fill_touches(s, r, 1 + chance(s, 3))
                                         : 0;

    fill_queues(s, r);
    r->claim.max = (int)chance(s, 6);
    r->op.exchange = (struct exchange){
        .parts = EXCHANGE_JOBS | EXCHANGE_TOUCHED | (n_finish > 0 ? EXCHANGE_RESULTS : 0),
        .finish = r->finish,
        .n_finish = n_finish,
        .touch = r->touch,
        .n_touch = n_touch,
        .worker = info_of(r->worker),
        .queues = r->queues,
        .n_queues = r->claim.n_queues,
        .max = r->claim.max,
        .lease_us = leases[chance(s, sizeof(leases) / sizeof(leases[0]))] * US_PER_S,
        .wait_us = chance(s, 3) == 0 ? (int64_t)chance(s, 60) * US_PER_S : 0,
        .all = all,
    };
    if (all && s->n_held[r->worker] > 20)
        s->n_held[r->worker] = 0; /* a new process under the old name: it holds nothing */
    return r;
}

static struct req *make_finish(struct sim *s)
{
    struct req *r = req_new(s, OP_EXCHANGE);

    r->worker = (int)chance(s, MODEL_WORKERS);
    r->op.exchange = (struct exchange){.parts = EXCHANGE_RESULTS, .finish = r->finish};
    r->op.exchange.n_finish = fill_finishes(s, r, 1 + chance(s, 4));
    return r;
}

static struct req *make_touch(struct sim *s)
{
    struct req *r = req_new(s, OP_EXCHANGE);

    r->worker = (int)chance(s, MODEL_WORKERS);
    r->op.exchange = (struct exchange){.parts = EXCHANGE_TOUCHED, .touch = r->touch};
    r->op.exchange.n_touch = fill_touches(s, r, 1 + chance(s, 4));
    return r;
}

static struct req *make_log(struct sim *s)
{
    struct req *r = req_new(s, OP_LOG);
    bool made_up;

    r->worker = (int)chance(s, MODEL_WORKERS);
    struct held lease = some_lease(s, r->worker, &made_up);
    const struct model_job *j = model_find(&s->model, lease.id);
    int64_t size = j == NULL ? 0 : j->log_size;
    int64_t offset = size - (chance(s, 3) == 0 ? (int64_t)chance(s, 10) : 0);

    if (j != NULL && !is_target(s, j))
        lease = (struct held){.id = 4711, .token = 4712};
    if (chance(s, 12) == 0)
        offset = size + 1;
    memset(r->log, 'x', sizeof(r->log));
    r->op.log = (struct log_append){.id = lease.id,
                                    .token = lease.token,
                                    .offset = offset < 0 ? 0 : offset,
                                    .data = slice_make(r->log, 1 + chance(s, sizeof(r->log)))};
    return r;
}

/* ---- what people do ---- */

static void fill_patch(struct sim *s, struct req *r)
{
    struct act *act = &r->op.act;

    if (chance(s, 2) == 0) {
        act->has_due = r->act.has_due = true;
        act->due_at = chance(s, 4) == 0
                          ? 0
                          : s->now.wall_at + (int64_t)chance(s, 60) * US_PER_S - 5 * US_PER_S;
        r->act.due_at = act->due_at;
    }
    if (chance(s, 2) == 0) {
        act->has_priority = r->act.has_priority = true;
        act->priority = r->act.priority = some_priority(s);
    }
    if (chance(s, 3) == 0) {
        snprintf(r->params, sizeof(r->params), "{\"m\":%lld}", (long long)++s->serial);
        r->act.params = r->params;
        act->params = slice_of(r->params);
    }
    if (chance(s, 4) == 0) {
        r->act.label = (int)chance(s, MODEL_LABELS);
        act->labels = own_text(r, "{\"l\":\"%d\"}", r->act.label);
    }
}

static struct req *make_act(struct sim *s)
{
    static const unsigned waiting = 1U << JOB_HELD | 1U << JOB_SCHEDULED | 1U << JOB_READY;
    static const unsigned ended = 1U << JOB_DONE | 1U << JOB_FAILED | 1U << JOB_CANCELLED;
    static const unsigned wants[ACT_COUNT] = {[ACT_CANCEL] = 1U << JOB_RUNNING | waiting,
                                              [ACT_RETRY] = ended,
                                              [ACT_HOLD] = waiting,
                                              [ACT_RELEASE] = 1U << JOB_HELD,
                                              [ACT_NOW] = 1U << JOB_SCHEDULED | 1U << JOB_HELD,
                                              [ACT_MOVE] = waiting,
                                              [ACT_PATCH] = waiting,
                                              [ACT_DELETE] = ended | waiting,
                                              [ACT_CLONE] = ended | waiting | 1U << JOB_RUNNING};
    struct req *r = req_new(s, OP_ACT);
    enum act_kind kind = (enum act_kind)chance(s, ACT_COUNT);
    struct model_job *j = chance(s, 4) == 0 ? any_job(s) : any_job_in(s, wants[kind]);

    if (j != NULL && kind == ACT_RETRY && j->n_record > MODEL_RECORD_MAX / 3)
        kind = ACT_DELETE;
    r->op.act = (struct act){.kind = kind, .id = j == NULL || chance(s, 40) == 0 ? 4711 : j->id};
    r->act = (struct model_act){.kind = kind, .target = -1, .label = -1, .now_at = s->now.wall_at};
    if (kind == ACT_MOVE) {
        r->act.target = chance(s, 30) == 0 ? -1 : any_queue(s);
        r->op.act.queue = r->act.target < 0 ? SLICE("no such") : queue_name(r->act.target);
    } else if (kind == ACT_PATCH) {
        fill_patch(s, r);
    } else if (j != NULL && (kind == ACT_CLONE || (kind == ACT_RETRY && chance(s, 2) == 0))) {
        r->act.member = kind == ACT_CLONE ? "c" : "r";
        r->act.value = ++s->serial;
        r->op.act.params = own_text(r, "{\"%s\":%lld}", r->act.member, (long long)r->act.value);
    }
    return r;
}

static struct req *make_bulk(struct sim *s)
{
    static const enum act_kind kinds[] = {ACT_CANCEL, ACT_RETRY, ACT_HOLD,   ACT_RELEASE,
                                          ACT_NOW,    ACT_MOVE,  ACT_DELETE, ACT_RELEASE};
    struct req *r = req_new(s, OP_BULK);
    struct model_work *w = &r->work;

    *w = (struct model_work){.kind = kinds[chance(s, 8)],
                             .queue = chance(s, 2) == 0 ? any_queue(s) : -1,
                             .label = chance(s, 3) == 0 ? (int)chance(s, MODEL_LABELS) : -1,
                             .target = -1};
    if (chance(s, 2) == 0)
        w->states = 1U << (JOB_HELD + chance(s, JOB_CANCELLED - JOB_HELD + 1)) | 1U << JOB_FAILED;
    if (w->kind == ACT_DELETE && chance(s, 2) == 0)
        w->before_at = s->now.wall_at - (int64_t)chance(s, 300) * US_PER_S;
    r->op.bulk = (struct bulk){.kind = w->kind,
                               .filter = {.states = w->states, .ended_before_at = w->before_at}};
    if (w->queue >= 0)
        r->op.bulk.filter.queue = queue_name(w->queue);
    if (w->label >= 0)
        r->op.bulk.filter.labels = own_text(r, "{\"l\":\"%d\"}", w->label);
    if (w->kind == ACT_MOVE) {
        w->target = any_queue(s);
        r->op.bulk.queue = queue_name(w->target);
    }
    return r;
}

static struct req *make_queue(struct sim *s)
{
    static const enum queue_state states[] = {QUEUE_UP,    QUEUE_UP,    QUEUE_UP,
                                              QUEUE_PAUSE, QUEUE_DRAIN, QUEUE_DOWN};
    struct req *r = req_new(s, OP_QUEUE);
    struct queue_op *o = &r->op.queue;
    uint64_t what = chance(s, 10);

    o->kind = what < 4 ? QUEUE_OP_APPLY : what < 9 ? QUEUE_OP_STATE : QUEUE_OP_DELETE;
    r->queue = any_queue(s);
    o->name = queue_name(r->queue);
    o->state = states[chance(s, 6)];
    if (o->kind != QUEUE_OP_APPLY)
        return r;
    o->n_puts = 1 + chance(s, 2);
    o->puts = r->puts;
    o->dry_run = chance(s, 10) == 0;
    o->prune = chance(s, 10) == 0;
    for (size_t i = 0; i < o->n_puts; i++) {
        r->put_queue[i] = (r->queue + (int)i) % MODEL_QUEUES;
        r->put_def[i] = (int)chance(s, MODEL_DEFS);
        r->puts[i] = (struct queue_put){.name = queue_name(r->put_queue[i]),
                                        .definition = slice_of(model_defs[r->put_def[i]].json)};
    }
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
    struct req *r = req_new(s, OP_QUEUE);

    r->op.queue = (struct queue_op){.kind = QUEUE_OP_APPLY, .puts = r->puts, .n_puts = 2};
    for (size_t i = 0; i < 2; i++) {
        r->put_queue[i] = (int)i + s->step % 2 * 2;
        r->put_def[i] = (int)chance(s, MODEL_DEFS - 1);
        r->puts[i] = (struct queue_put){.name = queue_name(r->put_queue[i]),
                                        .definition = slice_of(model_defs[r->put_def[i]].json)};
    }
    return r;
}

struct req *client_request(struct sim *s)
{
    uint64_t what = chance(s, 100);

    if (s->step < 2)
        return make_first_queues(s);
    if (what < 20 && s->model.n_jobs < 70)
        return make_submit(s);
    if (what < 44)
        return make_claim(s);
    if (what < 64)
        return make_finish(s);
    if (what < 69)
        return make_touch(s);
    if (what < 88)
        return make_act(s);
    if (what < 90)
        return s->model.n_work < MODEL_WORK_MAX / 2 ? make_bulk(s) : make_act(s);
    if (what < 93)
        return make_queue(s);
    if (what < 97)
        return make_log(s);
    return make_wait(s);
}

struct req *client_nothing(struct sim *s, enum op_kind kind)
{
    struct req *r = req_new(s, kind);

    r->reply_lost = false;
    return r;
}

struct req *client_claim_all(struct sim *s, int worker)
{
    struct req *r = req_new(s, OP_EXCHANGE);

    r->worker = worker;
    r->reply_lost = false;
    for (int i = 0; i < MODEL_QUEUES; i++)
        if (s->model.queues[i].there)
            add_claim_queue(s, r, i, 100);
    r->claim.max = 30;
    r->op.exchange = (struct exchange){.parts = EXCHANGE_JOBS,
                                       .worker = info_of(worker),
                                       .queues = r->queues,
                                       .n_queues = r->claim.n_queues,
                                       .max = 30,
                                       .lease_us = US_PER_HOUR};
    return r;
}

struct req *client_finish_done(struct sim *s, int worker)
{
    struct req *r = req_new(s, OP_EXCHANGE);
    size_t n = 0;

    r->worker = worker;
    for (; n < SIM_ITEMS && n < s->n_held[worker]; n++)
        r->finish[n] = (struct finish_item){.id = s->held[worker][n].id,
                                            .token = s->held[worker][n].token,
                                            .outcome = JOB_OUT_DONE};
    memmove(&s->held[worker][0], &s->held[worker][n],
            (s->n_held[worker] - n) * sizeof(struct held));
    s->n_held[worker] -= n;
    r->op.exchange = (struct exchange){.parts = EXCHANGE_RESULTS,
                                       .finish = r->finish,
                                       .n_finish = n};
    return r;
}
