/*
 * Requests as workers make them: they claim, touch, finish and log, late at times, twice, or for
 * others.
 */
/* SPDX-License-Identifier: MIT */
#include "sim.h"

/* ---- leases ---- */

const struct siphash_key sim_lease_key = {{0x5151515151515151, 0x6161616161616161}};

void worker_holds(struct sim *s, int worker, struct held lease)
{
    if (s->n_held[worker] == SIM_HELD) { /* it forgets the oldest */
        memmove(&s->held[worker][0], &s->held[worker][1], (SIM_HELD - 1) * sizeof(struct held));
        s->n_held[worker]--;
    }
    s->held[worker][s->n_held[worker]++] = lease;
}

static struct slice lease_text(struct req *r, struct held held)
{
    const struct lease lease = {held.id, held.token, held.fence};
    char text[LEASE_TEXT_SIZE];

    return client_text(r, "%s", lease_format(&sim_lease_key, &lease, text).data);
}

/* A lease the worker believes in, or a made-up one. */
static struct held some_lease(struct sim *s, int worker, bool *ret_made_up)
{
    const struct model_job *j = any_job(s);

    *ret_made_up = s->n_held[worker] == 0 || chance(s, 25) == 0;
    if (!*ret_made_up)
        return s->held[worker][chance(s, s->n_held[worker])];
    if (j == NULL || chance(s, 3) == 0)
        return (struct held){.id = 4711, .token = 4712, .fence = 1};
    return (struct held){.id = j->id,
                         .token = chance(s, 2) == 0 ? j->id : j->token + 1,
                         .fence = j->fence + 1};
}

static enum job_outcome some_outcome(struct sim *s, int64_t id)
{
    static const enum job_outcome outcomes[] = {JOB_OUT_DONE,      JOB_OUT_DONE,   JOB_OUT_DONE,
                                                JOB_OUT_FAILED,    JOB_OUT_FAILED, JOB_OUT_FAILED,
                                                JOB_OUT_LATER,     JOB_OUT_LATER,  JOB_OUT_RETURNED,
                                                JOB_OUT_CANCELLED, JOB_OUT_LOST};
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

/* A piece of the log, mostly where it ends. */
static const struct log_append *some_log(struct sim *s, struct req *r, struct held lease)
{
    const struct model_job *j = model_find(&s->model, lease.id);
    int64_t size = j == NULL ? 0 : j->log_size;
    int64_t offset = size - (chance(s, 3) == 0 ? (int64_t)chance(s, 10) : 0);

    if (r->n_logs == SIM_ITEMS || chance(s, 4) != 0)
        return NULL;
    if (chance(s, 12) == 0)
        offset = size + 1;
    memset(r->log, 'x', sizeof(r->log));
    struct log_append *l = &r->logs[r->n_logs++];

    *l = (struct log_append){.id = lease.id,
                             .token = lease.token,
                             .offset = offset < 0 ? 0 : offset,
                             .data = slice_make(r->log, 1 + chance(s, sizeof(r->log)))};
    return l;
}

/* What is emitted in a batch that ends the attempt leaves no trace for a look after a crash. */
static bool would_end_emits(const struct sim *s)
{
    for (size_t i = 0; i < s->n_batch && s->crashing; i++)
        if (s->batch[i]->op.kind == OP_EMIT)
            return true;
    return false;
}

/* Whether its success may lead to a join. */
static bool may_arrive(struct sim *s, int64_t id)
{
    const struct model_job *j = model_find(&s->model, id);
    const struct model_step *step = j == NULL ? NULL : model_step_find(&j->routing, j->step);
    bool joins = j != NULL && model_list_joins(j->routing.on_success);

    for (int i = 0; i < MODEL_LINKS && j != NULL; i++)
        joins = joins || model_list_joins(model_queue_links[j->queue][i].on_success);
    return joins || (step != NULL && model_list_joins(step->on_success));
}

static bool any_may_arrive(struct sim *s, const struct req *r, size_t n)
{
    for (size_t i = 0; i <= s->n_batch; i++) {
        const struct req *other = i < s->n_batch ? s->batch[i] : r;
        size_t count = other == r                      ? n
                       : other->op.kind == OP_EXCHANGE ? other->op.exchange.n_finish
                                                       : 0;

        for (size_t k = 0; k < count; k++)
            if (other->finish[k].outcome == JOB_OUT_DONE && may_arrive(s, other->finish[k].id))
                return true;
    }
    return false;
}

static void fill_finish(struct sim *s, struct req *r, size_t *n)
{
    bool made_up;
    struct held lease = some_lease(s, r->worker, &made_up);
    const struct model_job *j = model_find(&s->model, lease.id);
    enum job_outcome outcome = some_outcome(s, lease.id);

    if (is_named(r, *n, lease.id) || (j != NULL && !is_target(s, j)) || would_end_emits(s))
        return;
    /* Requests of one batch came at the same time: which of two different ones is first is open. */
    for (size_t i = 0; i < s->n_batch; i++)
        if (s->batch[i]->op.kind == OP_EXCHANGE &&
            is_named(s->batch[i], s->batch[i]->op.exchange.n_finish, lease.id))
            return;
    /* A repetition says the same again; a confused worker says something else. */
    if (j != NULL && model_outcome(j, lease.token) != JOB_OUT_NONE && chance(s, 4) != 0)
        outcome = model_outcome(j, lease.token);
    /* The same for successes and failures of a queue that counts failures in a row. */
    if (j != NULL && model_def_of(&s->model, j)->stop_after > 0 &&
        outcome == (s->step % 4 == 0 ? JOB_OUT_FAILED : JOB_OUT_DONE))
        return;
    /* And for those that arrive at joins. */
    if (outcome == JOB_OUT_DONE && may_arrive(s, lease.id) && any_may_arrive(s, r, *n))
        return;
    struct finish_item *f = &r->finish[(*n)++];

    *f = (struct finish_item){
        .id = lease.id, .token = lease.token, .lease = lease_text(r, lease), .outcome = outcome};
    f->exited = outcome == JOB_OUT_FAILED && chance(s, 2) == 0;
    f->exit = f->exited ? (chance(s, 3) == 0 ? 75 : chance(s, 4) == 0 ? 70 : 1) : 0;
    f->final = outcome == JOB_OUT_FAILED && chance(s, 10) == 0;
    f->delayed = (outcome == JOB_OUT_LATER && chance(s, 12) != 0) ||
                 (outcome == JOB_OUT_FAILED && chance(s, 10) == 0);
    f->delay_us = f->delayed ? (chance(s, 6) == 0 ? 0 : some_delay(s)) : 0;
    f->has_text = chance(s, 2) == 0;
    f->text = f->has_text ? SLICE("how it went") : slice_make(NULL, 0);
    client_fill_gain(s, r, *n - 1);
    f->log = some_log(s, r, lease);
}

/* One of the finishes may emit: which ids that gives is told by nobody, and found by the params. */
static void fill_finish_emits(struct sim *s, struct req *r, size_t n)
{
    if (n == 0 || chance(s, 6) != 0)
        return;
    struct finish_item *f = &r->finish[chance(s, n)];

    f->n_emit = 1 + chance(s, 3);
    r->owner = f->id;
    for (size_t i = 0; i < f->n_emit; i++) {
        client_fill_sub(s, r, i);
        client_fill_routing(s, r, i, f->n_emit);
    }
    f->emit = r->items;
}

static size_t fill_finishes(struct sim *s, struct req *r, size_t want)
{
    size_t n = 0;

    for (size_t i = 0; i < want; i++)
        fill_finish(s, r, &n);
    fill_finish_emits(s, r, n);
    return n;
}

static void add_touch(struct sim *s, struct req *r, size_t *n, struct held lease)
{
    struct touch_item *t = &r->touch[(*n)++];

    *t = (struct touch_item){.id = lease.id, .token = lease.token, .lease = lease_text(r, lease)};
    if (chance(s, 3) == 0) {
        t->has_text = true;
        t->text = SLICE("at it");
    }
    if (chance(s, 3) == 0) {
        t->has_done = true;
        t->done = (int64_t)chance(s, 100);
        t->total = 100;
        t->has_unit = chance(s, 2) == 0;
        t->unit = chance(s, 4) == 0 ? slice_make(NULL, 0) : SLICE("MB");
    }
    if (chance(s, 4) == 0) {
        t->has_left = true;
        t->left_us = chance(s, 4) == 0 ? -1 : (int64_t)chance(s, 1000) * US_PER_S;
    }
    t->log = some_log(s, r, lease);
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
    static const char *const names[MODEL_WORKERS] = {"box-a", "box-b", "box-c",
                                                     "box-d", "box-e", ""};
    static const char *const instances[MODEL_WORKERS] = {"one", "two", "three", "", "", ""};

    return (struct worker_info){.name = slice_of(names[worker]),
                                .host = SLICE("h"),
                                .pid = 7,
                                .instance = slice_of(instances[worker])};
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

struct req *worker_claim(struct sim *s)
{
    static const int64_t leases[] = {1, 1, 5, 5, 20, 60, 3600};
    struct req *r = req_new(s, OP_EXCHANGE);

    r->worker = name_worker(s);
    size_t n_finish = chance(s, 3) == 0 ? fill_finishes(s, r, 1 + chance(s, 3)) : 0;
    bool all = chance(s, 8) == 0 && !would_end_emits(s);
    size_t n_touch = all                 ? touch_all(s, r, n_finish)
                     : chance(s, 4) == 0 ? fill_touches(s, r, 1 + chance(s, 3))
                                         : 0;

    if (chance(s, 15) != 0) /* else it listens */
        fill_queues(s, r);
    r->claim.max = (int)chance(s, 6);
    r->claim.commands = chance(s, 3) == 0;
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
        .commands = r->claim.commands,
        .wake = r->worker < MODEL_WORKERS - 1 && chance(s, 6) == 0,
        .has_definitions = chance(s, 3) == 0,
        .definitions = s->model.definitions - (chance(s, 6) == 0),
    };
    if (r->worker == MODEL_CONTESTED)
        name_fill(s, r);
    if (all && s->n_held[r->worker] > 20)
        s->n_held[r->worker] = 0; /* a new process under the old name: it holds nothing */
    return r;
}

struct req *worker_finish(struct sim *s)
{
    struct req *r = req_new(s, OP_EXCHANGE);

    r->worker = (int)chance(s, MODEL_WORKERS);
    r->op.exchange = (struct exchange){.parts = EXCHANGE_RESULTS, .finish = r->finish};
    r->op.exchange.n_finish = fill_finishes(s, r, 1 + chance(s, 4));
    return r;
}

struct req *worker_touch(struct sim *s)
{
    struct req *r = req_new(s, OP_EXCHANGE);

    r->worker = (int)chance(s, MODEL_WORKERS);
    r->op.exchange = (struct exchange){.parts = EXCHANGE_TOUCHED, .touch = r->touch};
    r->op.exchange.n_touch = fill_touches(s, r, 1 + chance(s, 4));
    return r;
}

struct req *worker_log(struct sim *s)
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

static bool may_emit(const struct sim *s, const struct model_job *j)
{
    for (size_t i = 0; i < s->n_batch && s->crashing; i++)
        if (s->batch[i]->op.kind == OP_EXCHANGE || s->batch[i]->op.kind == OP_EMIT)
            return false;
    return !s->crashing || j == NULL || j->lease_at > s->now.steady_at;
}

/* Mostly a job that runs, and rather one that has emitted before. */
static struct held some_owner(struct sim *s, int worker)
{
    struct model *m = &s->model;
    bool made_up;

    for (int i = 0; i < 12 && m->n_jobs > 0; i++) {
        const struct model_job *j = &m->jobs[chance(s, m->n_jobs)];

        if (j->state == JOB_RUNNING && (i > 4 || model_emitter_of(m, j->id) != NULL))
            return (struct held){j->id, j->token, j->fence};
    }
    return some_lease(s, worker, &made_up);
}

struct req *worker_emit(struct sim *s)
{
    int worker = (int)chance(s, MODEL_WORKERS);
    struct held lease = some_owner(s, worker);
    struct model_job *j = model_find(&s->model, lease.id);
    const struct model_emitter *e = model_emitter_of(&s->model, lease.id);
    int64_t last = e == NULL ? 0 : e->seq;

    if (!may_emit(s, j) || s->model.n_jobs > 110 || s->model.n_emitters > MODEL_EMITTERS / 2)
        return worker_touch(s);
    struct req *r = req_new(s, OP_EMIT);

    r->worker = worker;
    r->owner = lease.id;
    r->cursor = chance(s, 3) == 0 ? ++s->serial : 0;
    r->op.emit = (struct emit){.id = lease.id,
                               .token = lease.token,
                               .seq = last + 1 + (chance(s, 20) == 0),
                               .jobs = r->items,
                               .n_jobs = chance(s, 5) == 0 ? chance(s, SIM_ITEMS + 1)
                                                           : chance(s, 3),
                               .visible = chance(s, 2) == 0};
    if (last == MODEL_EMITS || (last > 0 && chance(s, 5) == 0)) /* a reply was lost */
        r->op.emit.seq = 1 + (int64_t)chance(s, (uint64_t)last);
    if (r->op.emit.n_jobs == 0 && r->cursor == 0)
        r->cursor = ++s->serial;
    for (size_t i = 0; i < r->op.emit.n_jobs; i++) {
        client_fill_sub(s, r, i);
        client_fill_routing(s, r, i, r->op.emit.n_jobs);
    }
    if (r->cursor > 0)
        r->op.emit.cursor = client_text(r, "%lld", (long long)r->cursor);
    return r;
}

/* ---- for the end ---- */

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
                                            .lease = lease_text(r, s->held[worker][n]),
                                            .outcome = JOB_OUT_DONE};
    memmove(&s->held[worker][0], &s->held[worker][n],
            (s->n_held[worker] - n) * sizeof(struct held));
    s->n_held[worker] -= n;
    r->op.exchange = (struct exchange){.parts = EXCHANGE_RESULTS,
                                       .finish = r->finish,
                                       .n_finish = n};
    return r;
}
