/*
 * The batch: ops in, one transaction, answers out.
 *
 * Order within a batch: what the engine does by itself, queues, finishes, touches, logs, single and bulk
 * actions, submits, then claims, so that what was made ready in a batch is claimed in it.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/engine_internal.h"
#include "store/store_claims.h"
#include "store/store_meta.h"

#define META_IDS "ids"

#define IDS_AHEAD_US (2 * US_PER_S)
#define RESUME_US (1 * US_PER_S)
#define WALL_LOOK_US (60 * US_PER_S) /* the wall clock may be set: look at least so often */

enum { SHRINK_PAGES = 256, RENEW_ROWS = 1000 };

/* ---- ids and the transaction ---- */

int64_t engine_new_id(struct engine *e)
{
    return id_gen_next(&e->ids, e->now.wall_at);
}

enum err_code engine_write(struct engine *e, struct err *err)
{
    if (e->in_transaction)
        return E_OK;
    if (store_begin(e->store, err) != E_OK)
        return err->code;
    e->in_transaction = true;
    for (size_t i = 0; i < e->dead_claims.count; i++)
        if (store_claim_remove(e->store, e->dead_claims.items[i], err) != E_OK)
            return err->code;
    return E_OK;
}

/* Ids are promised in stretches of time: one write covers all of the next two seconds. */
static enum err_code mark_ids(struct engine *e, int64_t *ret_mark, struct err *err)
{
    *ret_mark = e->ids_mark;
    if (e->ids.last < e->ids_mark)
        return E_OK;
    *ret_mark = id_at_time(id_time(e->ids.last) + IDS_AHEAD_US);
    return store_meta_set(e->store, META_IDS, *ret_mark, err);
}

static enum err_code commit(struct engine *e, struct err *err)
{
    int64_t mark;

    if (!e->in_transaction)
        return E_OK;
    if (endings_write(e, err) != E_OK ||
        counts_write(&e->counts, e->store, e->config.node, err) != E_OK ||
        mark_ids(e, &mark, err) != E_OK || store_commit(e->store, err) != E_OK)
        return err->code;
    e->in_transaction = false;
    e->ids_mark = mark;
    VEC_CLEAR(&e->dead_claims);
    atomic_fetch_add(&e->stats.commits, 1);
    return E_OK;
}

/* ---- moves ---- */

void note_move(struct engine *e, const struct job *j, enum job_state from, struct queue *from_queue,
               const char *what)
{
    struct queue *q = queue_by_id(e, j->queue);

    if (from != JOB_NONE)
        counts_add(&e->counts, from_queue->id, from, -1);
    if (from == JOB_READY)
        ready_remove(&from_queue->ready, (struct ready_ref){j->priority, j->id.v});
    counts_add(&e->counts, q->id, j->state, 1);
    if (j->state == JOB_READY) {
        ready_add(&q->ready, (struct ready_ref){j->priority, j->id.v});
        e->woken = true;
    }
    if (j->state == JOB_SCHEDULED && j->due_at < e->due_at)
        e->due_at = j->due_at;
    if (job_state_ended(j->state)) {
        int64_t keep = j->state == JOB_FAILED ? q->def.keep_failed_us : q->def.keep_done_us;

        if (j->finished_at + keep < e->retain_at)
            e->retain_at = j->finished_at + keep;
        VEC_PUSH(&e->endings, ((struct ended_job){q->id, j->state, j->id.v}));
        if (e->waits != NULL)
            VEC_PUSH(&e->ended, j->id.v);
    }
    if (e->config.on_event != NULL)
        VEC_PUSH(&e->events, ((struct event){.kind = EVENT_JOB,
                                             .at = e->now.wall_at,
                                             .id = j->id.v,
                                             .queue = slice_of(q->name),
                                             .state = j->state,
                                             .what = what}));
}

/* ---- after the commit ---- */

static void close_one(struct engine *e, const struct closing *c)
{
    struct live_claim *claim = claims_find(&e->claims, c->token);

    if (claim == NULL || --claim->open > 0)
        return;
    VEC_PUSH(&e->dead_claims, c->token);
    claims_remove(&e->claims, claim);
}

static void answer(struct op *op)
{
    op->next = NULL;
    op->done(op);
}

static void wake_waits(struct engine *e)
{
    struct op **at = &e->waits;

    while (*at != NULL) {
        struct op *op = *at;
        bool ended = op->deadline_at <= e->now.steady_at;

        for (size_t i = 0; i < e->ended.count && !ended; i++)
            ended = e->ended.items[i] == op->wait.id;
        if (!ended) {
            if (op->deadline_at < e->wake_at)
                e->wake_at = op->deadline_at;
            at = &op->next;
            continue;
        }
        *at = op->next;
        atomic_fetch_sub(&e->stats.waiting, 1);
        answer(op);
    }
}

static void add_tallies(struct engine *e)
{
    struct engine_stats *s = &e->stats;

    atomic_fetch_add(&s->submitted, e->tally_submitted);
    atomic_fetch_add(&s->claimed, e->tally_claimed);
    atomic_fetch_add(&s->done, e->tally_outcomes[JOB_OUT_DONE]);
    atomic_fetch_add(&s->later, e->tally_outcomes[JOB_OUT_LATER]);
    atomic_fetch_add(&s->returned, e->tally_outcomes[JOB_OUT_RETURNED]);
    atomic_fetch_add(&s->lost, e->tally_outcomes[JOB_OUT_LOST]);
    atomic_fetch_add(&s->cancelled, e->tally_outcomes[JOB_OUT_CANCELLED]);
    atomic_fetch_add(&s->failed, e->tally_failed);
    atomic_fetch_add(&s->retried, e->tally_retried);
    atomic_fetch_add(&s->stale, e->tally_stale);
    atomic_fetch_add(&s->deleted, e->tally_deleted);
    atomic_fetch_add(&s->retained, e->tally_retained);
}

static void publish_events(struct engine *e)
{
    for (size_t i = 0; i < e->events.count; i++)
        e->config.on_event(e->config.event_ctx, &e->events.items[i]);
}

/* A job that ended its attempt needs no cancel any more. */
static void forget_cancels(struct engine *e)
{
    size_t kept = 0;

    for (size_t i = 0; i < e->cancels.count; i++) {
        bool closed = false;

        for (size_t k = 0; k < e->closings.count && !closed; k++)
            closed = e->closings.items[k].job == e->cancels.items[i].job;
        if (!closed)
            e->cancels.items[kept++] = e->cancels.items[i];
    }
    e->cancels.count = kept;
}

static void apply_effects(struct engine *e)
{
    for (size_t i = 0; i < e->new_claims.count; i++)
        claims_add(&e->claims, e->new_claims.items[i]);
    VEC_CLEAR(&e->new_claims);
    for (size_t i = 0; i < e->closings.count; i++)
        close_one(e, &e->closings.items[i]);
    for (size_t i = 0; i < e->new_cancels.count; i++)
        VEC_PUSH(&e->cancels, e->new_cancels.items[i]);
    forget_cancels(e);
    add_tallies(e);
    publish_events(e);
}

/* ---- the batch ---- */

static void clear_batch(struct engine *e)
{
    for (size_t i = 0; i < e->new_claims.count; i++)
        free(e->new_claims.items[i]);
    VEC_CLEAR(&e->new_claims);
    VEC_CLEAR(&e->closings);
    for (size_t i = 0; i < e->gone_queues.count; i++)
        queue_free(e->gone_queues.items[i]);
    VEC_CLEAR(&e->gone_queues);
    VEC_CLEAR(&e->looked_at);
    VEC_CLEAR(&e->new_jobs);
    VEC_CLEAR(&e->endings);
    VEC_CLEAR(&e->ended);
    VEC_CLEAR(&e->events);
    VEC_CLEAR(&e->new_cancels);
    counts_clear(&e->counts);
    arena_clear(&e->arena);
    e->queues_changed = e->removed_some = false;
    e->tally_submitted = e->tally_claimed = e->tally_stale = e->tally_deleted = e->tally_retained =
        0;
    e->tally_retried = e->tally_failed = 0;
    memset(e->tally_outcomes, 0, sizeof(e->tally_outcomes));
}

/* Leases that were judged are judged again. */
static void look_again(struct engine *e)
{
    for (size_t i = 0; i < e->looked_at.count; i++) {
        struct live_claim *claim = claims_find(&e->claims, e->looked_at.items[i]);

        if (claim != NULL)
            claims_set_check(&e->claims, claim, e->now.steady_at);
    }
}

/* Nothing of the batch happened: what memory took from it is read again from the store. */
static void undo_batch(struct engine *e)
{
    struct err err = ERR_INIT;
    bool reload = e->queues_changed;

    store_rollback(e->store);
    e->in_transaction = false;
    claims_ungrant(e);
    look_again(e);
    clear_batch(e);
    atomic_fetch_add(&e->stats.rollbacks, 1);
    e->due_at = 0;
    e->retain_at = 0;
    e->woken = true;
    workers_free(e);
    queues_reset_ready(e);
    if (reload && queues_load(e, &err) != E_OK)
        atomic_store(&e->stats.last_error_at, e->now.wall_at);
    bulk_free(e);
    if (bulk_load(e, &err) != E_OK || workers_load(e, &err) != E_OK)
        atomic_store(&e->stats.last_error_at, e->now.wall_at);
}

static void reset_op(struct op *op)
{
    buf_clear(&op->reply);
    buf_clear(&op->jobs);
    buf_clear(&op->cancels);
    op->n_granted = 0;
    op->hurry = false;
    op->plain = NULL;
    op->err = ERR_INIT;
    op->status = 200;
}

typedef enum err_code use_case_fn(struct engine *e, struct op *op, struct err *err);

static enum err_code exchange_finish(struct engine *e, struct op *op, struct err *err)
{
    if (!exchange_is_sound(e, op))
        return E_OK;
    buf_add_char(&op->reply, '{');
    return op->exchange.parts & EXCHANGE_RESULTS ? finish_run(e, op, err) : E_OK;
}

static enum err_code exchange_touch(struct engine *e, struct op *op, struct err *err)
{
    if (op->err.code != E_OK)
        return E_OK;
    if (op->exchange.parts & EXCHANGE_TOUCHED && touch_run(e, op, err) != E_OK)
        return err->code;
    return op->exchange.all ? claim_return_unknown(e, op, err) : E_OK;
}

/* In the order in which a batch runs. */
static const struct {
    enum op_kind kind;
    use_case_fn *run;
} phases[] = {
    {OP_QUEUE, queue_op_run},
    {OP_EXCHANGE, exchange_finish},
    {OP_EXCHANGE, exchange_touch},
    {OP_LOG, log_run},
    {OP_ACT, act_run},
    {OP_BULK, bulk_run},
    {OP_SUBMIT, submit_run},
};

static enum err_code run_phases(struct engine *e, struct op **ops, size_t n, struct err *err)
{
    for (size_t p = 0; p < ARRAY_LEN(phases); p++)
        for (size_t i = 0; i < n; i++)
            if (ops[i]->kind == phases[p].kind && phases[p].run(e, ops[i], err) != E_OK)
                return err->code;
    return E_OK;
}

static enum err_code try_batch(struct engine *e, struct op **ops, size_t n, struct err *err)
{
    clear_batch(e);
    for (size_t i = 0; i < n; i++)
        reset_op(ops[i]);
    if (sweep_is_due(e) && sweep_run(e, err) != E_OK)
        return err->code;
    if (finish_plain(e, ops, n, err) != E_OK || run_phases(e, ops, n, err) != E_OK ||
        submit_flush(e, err) != E_OK || claims_grant(e, ops, n, err) != E_OK)
        return err->code;
    return commit(e, err);
}

/* ---- answers ---- */

static bool is_claim(const struct op *op)
{
    return op->kind == OP_EXCHANGE && op->exchange.parts & EXCHANGE_JOBS && op->err.code == E_OK;
}

static void finish_claim(struct engine *e, struct op *op)
{
    claim_tell_cancels(e, op);
    exchange_close(op);
    answer(op);
}

/* Waiting claims that were granted something, whose time is up, or who must be told of a cancel. */
static void answer_waiting(struct engine *e)
{
    struct op **at = &e->waiting;

    e->wake_at = TIME_NEVER;
    while (*at != NULL) {
        struct op *op = *at;

        if (op->n_granted == 0 && op->deadline_at > e->now.steady_at &&
            !claim_tell_cancels(e, op)) {
            if (op->deadline_at < e->wake_at)
                e->wake_at = op->deadline_at;
            at = &op->next;
            continue;
        }
        *at = op->next;
        atomic_fetch_sub(&e->stats.waiting, 1);
        finish_claim(e, op);
    }
    e->waiting_end = at;
}

static bool may_wait(struct engine *e, struct op *op, int64_t wait_us)
{
    if (wait_us == 0)
        return false;
    if (atomic_load(&e->stats.waiting) >= e->config.waiting_max) {
        err_set(&op->err, E_TOO_MANY, "%u requests wait already: come again later",
                (unsigned)e->config.waiting_max);
        return false;
    }
    op->deadline_at = e->now.steady_at + wait_us;
    if (op->deadline_at < e->wake_at)
        e->wake_at = op->deadline_at;
    atomic_fetch_add(&e->stats.waiting, 1);
    op->next = NULL;
    return true;
}

static void answer_claim(struct engine *e, struct op *op)
{
    bool at_once = op->n_granted > 0 || op->hurry || claim_tell_cancels(e, op);

    if (!at_once && may_wait(e, op, op->exchange.wait_us)) {
        *e->waiting_end = op;
        e->waiting_end = &op->next;
        return;
    }
    finish_claim(e, op);
}

/* Whether a job or a piece of chunked work has ended; E_NOT_FOUND when there is none. */
static bool has_ended(struct engine *e, struct op *op)
{
    struct job j;
    bool found = false;

    for (size_t i = 0; i < e->work.count; i++)
        if (e->work.items[i]->row.id == op->wait.id)
            return false;
    return store_job_brief(e->store, op->wait.id, &e->arena, &j, &found, &op->err) != E_OK ||
           !found;
}

static void answer_wait(struct engine *e, struct op *op)
{
    if (!has_ended(e, op) && may_wait(e, op, op->wait.wait_us)) {
        op->next = e->waits;
        e->waits = op;
        return;
    }
    answer(op);
}

static void answer_all(struct engine *e, struct op **ops, size_t n)
{
    answer_waiting(e);
    wake_waits(e);
    for (size_t i = 0; i < n; i++) {
        if (is_claim(ops[i]))
            answer_claim(e, ops[i]);
        else if (ops[i]->kind == OP_WAIT)
            answer_wait(e, ops[i]);
        else {
            if (ops[i]->kind == OP_EXCHANGE && ops[i]->err.code == E_OK)
                exchange_close(ops[i]);
            answer(ops[i]);
        }
    }
}

static void settle_batch(struct engine *e, struct op **ops, size_t n)
{
    struct err err = ERR_INIT;
    bool shrink = e->removed_some;

    e->woken = false;
    apply_effects(e);
    answer_all(e, ops, n);
    clear_batch(e);
    atomic_store(&e->stats.last_error_at, 0);
    if (shrink && store_shrink(e->store, SHRINK_PAGES, &err) != E_OK)
        atomic_store(&e->stats.last_error_at, e->now.wall_at);
}

/* The batch failed twice: each op for itself, so that one cannot spoil the others. */
static void run_one_by_one(struct engine *e, struct op **ops, size_t n)
{
    e->resume_at = e->now.steady_at + RESUME_US;
    atomic_store(&e->stats.last_error_at, e->now.wall_at);
    for (size_t i = 0; i < n; i++) {
        struct err err = ERR_INIT;

        if (try_batch(e, &ops[i], 1, &err) == E_OK) {
            settle_batch(e, &ops[i], 1);
            continue;
        }
        undo_batch(e);
        reset_op(ops[i]);
        ops[i]->err = err;
        answer(ops[i]);
    }
}

void engine_run(struct engine *e, struct op *list, struct now now)
{
    struct err err = ERR_INIT;

    e->now = now;
    VEC_CLEAR(&e->batch);
    for (struct op *op = list; op != NULL; op = op->next)
        VEC_PUSH(&e->batch, op);
    for (int attempts = 0; attempts < 2; attempts++) {
        if (try_batch(e, e->batch.items, e->batch.count, &err) == E_OK) {
            settle_batch(e, e->batch.items, e->batch.count);
            return;
        }
        undo_batch(e);
    }
    run_one_by_one(e, e->batch.items, e->batch.count);
}

int64_t engine_next_us(const struct engine *e, struct now now)
{
    int64_t steady = sweep_next_steady_at(e);
    int64_t wall = sweep_next_wall_at(e);
    int64_t us = TIME_NEVER;

    if (e->wake_at < steady)
        steady = e->wake_at;
    if (steady != TIME_NEVER)
        us = steady - now.steady_at;
    if (wall != TIME_NEVER) {
        int64_t wall_us = wall - now.wall_at;

        if (wall_us > WALL_LOOK_US)
            wall_us = WALL_LOOK_US;
        us = wall_us < us ? wall_us : us;
    }
    int64_t rest_us = e->resume_at - now.steady_at; /* after a failure: not at once again */

    if (us < rest_us)
        us = rest_us;
    return us < 0 ? 0 : us;
}

const struct engine_stats *engine_get_stats(const struct engine *e)
{
    return &e->stats;
}

/* ---- opening and closing ---- */

static void take_claim(void *ctx, const struct stored_claim *c)
{
    struct engine *e = ctx;
    struct live_claim *claim = claim_new(c->token, c->jobs, c->n_jobs);

    claim->worker = c->worker;
    claim->lease_us = c->lease_us;
    claim->check_at = e->now.steady_at + c->lease_us;
    claims_add(&e->claims, claim);
}

static enum err_code renew_claim(struct engine *e, const struct live_claim *claim, struct err *err)
{
    const struct touch_status silent = {.has_text = false};
    enum touch_result result;

    for (size_t i = 0; i < claim->n_jobs; i++)
        if (store_job_touch(e->store, claim->jobs[i], claim->token, claim->check_at, &silent,
                            &result, err) != E_OK)
            return err->code;
    return E_OK;
}

/* Deadlines in the store are of the clock of the process that wrote them: found leases get ours. */
static enum err_code renew_leases(struct engine *e, struct err *err)
{
    size_t rows = 0;

    for (size_t i = 0; i < e->claims.heap.count; i++) {
        if ((rows == 0 && store_begin(e->store, err) != E_OK) ||
            renew_claim(e, e->claims.heap.items[i], err) != E_OK)
            return err->code;
        rows += e->claims.heap.items[i]->n_jobs;
        if (rows < RENEW_ROWS && i + 1 < e->claims.heap.count)
            continue;
        if (store_commit(e->store, err) != E_OK)
            return err->code;
        rows = 0;
    }
    return E_OK;
}

static enum err_code load(struct engine *e, struct err *err)
{
    int64_t floor = 0;

    if (store_meta_get(e->store, META_IDS, &floor, err) != E_OK || queues_load(e, err) != E_OK ||
        workers_load(e, err) != E_OK || store_claims_load(e->store, take_claim, e, err) != E_OK ||
        bulk_load(e, err) != E_OK)
        return err->code;
    id_gen_init(&e->ids, e->config.node, floor);
    e->ids_mark = floor;
    if (renew_leases(e, err) != E_OK) {
        store_rollback(e->store);
        return err->code;
    }
    return E_OK;
}

enum err_code engine_open(struct store *store, const struct engine_config *config, struct now now,
                          struct engine **ret_engine, struct err *err)
{
    struct engine *e = mem_zalloc(sizeof(*e));

    e->store = store;
    e->config = *config;
    e->now = now;
    e->waiting_end = &e->waiting;
    e->wake_at = TIME_NEVER;
    rng_init(&e->rng, config->seed);
    claims_init(&e->claims);
    if (load(e, err) != E_OK) {
        engine_close(e);
        return err->code;
    }
    *ret_engine = e;
    return E_OK;
}

void engine_close(struct engine *e)
{
    if (e == NULL)
        return;
    for (struct op *op = e->waiting, *next; op != NULL; op = next) {
        next = op->next;
        exchange_close(op);
        answer(op);
    }
    for (struct op *op = e->waits, *next; op != NULL; op = next) {
        next = op->next;
        answer(op);
    }
    clear_batch(e);
    bulk_free(e);
    workers_free(e);
    queues_free(e);
    claims_deinit(&e->claims);
    counts_deinit(&e->counts);
    arena_deinit(&e->arena);
    VEC_DEINIT(&e->batch);
    VEC_DEINIT(&e->dead_claims);
    VEC_DEINIT(&e->cancels);
    VEC_DEINIT(&e->new_claims);
    VEC_DEINIT(&e->closings);
    VEC_DEINIT(&e->gone_queues);
    VEC_DEINIT(&e->looked_at);
    VEC_DEINIT(&e->new_jobs);
    VEC_DEINIT(&e->endings);
    VEC_DEINIT(&e->ended);
    VEC_DEINIT(&e->events);
    VEC_DEINIT(&e->new_cancels);
    free(e);
}
