/*
 * The batch: ops in, one transaction, answers out.
 *
 * Order within a batch: queues and subscribers, emits, logs that come with finishes and touches, finishes, touches,
 * what the engine does by itself, staged jobs, logs, single and bulk actions, submits, publishes, joins and signals,
 * then what all these ends mean to others, then claims: what a worker said counts before its leases are judged, and
 * what was made ready in a batch is claimed in it.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/engine_internal.h"
#include "engine/queues/define.h"
#include "store/jobs/claims.h"
#include "store/meta.h"
#include "store/shared.h"

#define IDS_AHEAD_US (2 * US_PER_S)
#define RESUME_US (1 * US_PER_S)
#define PASS_ON_US US_PER_MS         /* after damage that is passed over from now on */
#define WALL_LOOK_US (60 * US_PER_S) /* the wall clock may be set: look at least so often */

enum {
    SHRINK_PAGES = 256,
    BATCH_ROWS = 10000,              /* what is asked beyond goes into a transaction of its own */
    PUBLISH_ROWS = FANOUT_ROWS / 64, /* of one publication, at least: core/fanout.h */
    KEPT_JOBS = 2048,                /* room for so many new jobs stays from batch to batch */
    RACES_MAX = 10,                  /* so often may another server be faster */
    SHORT_MS = 50,                   /* how long an op that runs alone waits for a lock … */
    SHORT_TIMES = 10,                /* … which that many may do; */
    SHORTEST_MS = 5,                 /* the others wait for so long */
};

/* ---- ids and the transaction ---- */

int64_t engine_new_id(struct engine *e)
{
    return id_gen_next(&e->ids, e->ids_at);
}

struct now engine_clock(const struct engine *e)
{
    return e->config.clock != NULL ? e->config.clock() : e->given;
}

static enum err_code begin(struct engine *e, struct err *err)
{
    if (e->in_transaction)
        return E_OK;
    if (e->shared)
        return shared_begin_late(e, err);
    if (store_begin(e->store, err) != E_OK)
        return err->code;
    e->in_transaction = true;
    return E_OK;
}

enum err_code engine_write(struct engine *e, struct err *err)
{
    if (e->has_written)
        return E_OK;
    if (begin(e, err) != E_OK)
        return err->code;
    e->has_written = true;
    for (size_t i = 0; i < e->dead_claims.count; i++)
        if (store_claim_remove(e->store, e->dead_claims.items[i], err) != E_OK)
            return err->code;
    return E_OK;
}

/* Ids are promised in stretches of time: one write covers all of the next two seconds. */
static enum err_code mark_ids(struct engine *e, int64_t *ret_mark, struct err *err)
{
    bool covered = e->ids.last < e->ids_mark;

    *ret_mark = covered ? e->ids_mark : id_at_time(id_time(e->ids.last) + IDS_AHEAD_US);
    if (e->shared)
        return shared_sign(e, *ret_mark, err);
    return covered ? E_OK : store_meta_set(e->store, META_IDS, *ret_mark, err);
}

enum err_code engine_commit(struct engine *e, struct err *err)
{
    int64_t mark = e->ids_mark;

    if (!e->in_transaction)
        return E_OK;
    if (e->has_written && (endings_write(e, err) != E_OK || joins_write(e, err) != E_OK ||
                           counts_write(&e->counts, e->store, e->node, err) != E_OK ||
                           mark_ids(e, &mark, err) != E_OK))
        return err->code;
    if (store_commit(e->store, err) != E_OK)
        return err->code;
    e->in_transaction = false;
    e->ids_mark = mark;
    if (e->has_written)
        VEC_CLEAR(&e->dead_claims);
    e->has_written = false;
    atomic_fetch_add(&e->stats.commits, 1);
    atomic_store(&e->stats.last_error_at, 0);
    return E_OK;
}

/* ---- the batch ---- */

void clear_batch(struct engine *e)
{
    for (size_t i = 0; i < e->new_claims.count; i++)
        free(e->new_claims.items[i]);
    VEC_CLEAR(&e->new_claims);
    VEC_CLEAR(&e->closings);
    VEC_CLEAR(&e->touched);
    for (size_t i = 0; i < e->gone_queues.count; i++)
        queue_free(e->gone_queues.items[i]);
    VEC_CLEAR(&e->gone_queues);
    VEC_CLEAR(&e->looked_at);
    if (e->new_jobs.capacity > KEPT_JOBS)
        VEC_DEINIT(&e->new_jobs);
    VEC_CLEAR(&e->new_jobs);
    VEC_CLEAR(&e->unfit_jobs);
    keys_clear(e);
    VEC_CLEAR(&e->endings);
    VEC_CLEAR(&e->ended);
    VEC_CLEAR(&e->events);
    VEC_CLEAR(&e->new_cancels);
    VEC_CLEAR(&e->told);
    links_clear(e);
    counts_clear(&e->counts);
    arena_clear(&e->arena);
    e->queues_changed = e->workers_changed = e->definitions_raised = e->removed_some = false;
    e->has_written = false;
    e->settled_us = 0;
    e->tally = (struct tally){0};
    shared_clear(e);
}

void tell_trouble(struct engine *e, const struct err *err)
{
    atomic_store(&e->stats.last_error_at, e->now.wall_at);
    if (e->config.on_trouble != NULL)
        e->config.on_trouble(e->config.trouble_ctx, err);
}

/* Leases that were judged are judged again. */
static void look_again(struct engine *e)
{
    for (size_t i = 0; i < e->looked_at.count; i++) {
        struct live_claim *claim = claims_find(&e->claims, e->looked_at.items[i].token);

        if (claim != NULL)
            claims_set_check(&e->claims, claim, engine_lease_at(e));
    }
}

/* Reads again what memory holds of the store, as far as it is not what the store says. */
static enum err_code reload(struct engine *e, struct err *err)
{
    if (!e->stale)
        return E_OK;
    workers_free(e);
    bulk_free(e);
    emitters_free(e);
    if ((e->queues_stale && !e->shared && queues_load(e, err) != E_OK) ||
        bulk_load(e, err) != E_OK || emitters_load(e, err) != E_OK || workers_load(e, err) != E_OK)
        return err->code;
    e->stale = e->queues_stale = false;
    return E_OK;
}

/* Nothing of the batch happened: what memory took from it is read again from the store, now or, if that
 * fails too, before the next batch. */
static void undo_batch(struct engine *e)
{
    struct err err = ERR_INIT;

    e->stale = !e->shared || e->workers_changed;
    e->has_work = e->is_unsettled = e->shared;
    e->has_releases = e->has_revivals = e->has_fanouts = true;
    e->queues_stale = e->queues_stale || e->queues_changed;
    store_rollback(e->store);
    e->in_transaction = false;
    if (e->queues_changed)
        e->changes = -1;
    claims_ungrant(e);
    look_again(e);
    clear_batch(e);
    atomic_fetch_add(&e->stats.rollbacks, 1);
    e->due_at = 0;
    e->retain_at = 0;
    e->woken = true;
    queues_reset_ready(e);
    if (reload(e, &err) != E_OK)
        tell_trouble(e, &err);
}

static void reset_op(struct op *op)
{
    buf_clear(&op->reply);
    buf_clear(&op->cancels);
    buf_clear(&op->logs);
    op->picked = NULL;
    op->n_picked = op->n_granted = 0;
    op->hurry = false;
    op->plain = NULL;
    op->ids = NULL;
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

/* What a worker that is gone by now has said of all that it holds may be old: the next one of its name may
 * have been granted more since. */
static bool says_all(const struct engine *e, struct op *op)
{
    return op->exchange.all && (op->alive == NULL || op->alive(op)) &&
           instance_says_all(e, &op->exchange);
}

static enum err_code exchange_touch(struct engine *e, struct op *op, struct err *err)
{
    if (op->err.code != E_OK)
        return E_OK;
    if (op->exchange.parts & EXCHANGE_TOUCHED && touch_run(e, op, err) != E_OK)
        return err->code;
    return says_all(e, op) ? claim_return_unknown(e, op, err) : E_OK;
}

static enum err_code wait_run(struct engine *e, struct op *op, struct err *err)
{
    return e->shared && op->wait.wait_us > 0 ? shared_watch(e, op->wait.id, &op->over, err) : E_OK;
}

enum phase {
    PHASE_DEFINE,
    PHASE_QUEUES,
    PHASE_SUBSCRIBE,
    PHASE_EMIT,
    PHASE_FINISH,
    PHASE_TOUCH,
    PHASE_LOGS,
    PHASE_ACTS,
    PHASE_BULK,
    PHASE_SUBMIT,
    PHASE_PUBLISH,
    PHASE_JOIN,
    PHASE_SIGNAL,
    PHASE_WAIT,
    PHASE_COUNT
};

/* In the order in which a batch runs. */
static const struct {
    enum op_kind kind;
    use_case_fn *run;
} phases[PHASE_COUNT] = {
    [PHASE_DEFINE] = {OP_DEFINE, define_run},
    [PHASE_QUEUES] = {OP_QUEUE, queue_op_run},
    [PHASE_SUBSCRIBE] = {OP_SUBSCRIBE, subscribe_run},
    [PHASE_EMIT] = {OP_EMIT, emit_run},
    [PHASE_FINISH] = {OP_EXCHANGE, exchange_finish},
    [PHASE_TOUCH] = {OP_EXCHANGE, exchange_touch},
    [PHASE_LOGS] = {OP_LOG, log_run},
    [PHASE_ACTS] = {OP_ACT, act_run},
    [PHASE_BULK] = {OP_BULK, bulk_run},
    [PHASE_SUBMIT] = {OP_SUBMIT, submit_run},
    [PHASE_PUBLISH] = {OP_PUBLISH, publish_run},
    [PHASE_JOIN] = {OP_JOIN, join_run},
    [PHASE_SIGNAL] = {OP_SIGNAL, signal_run},
    [PHASE_WAIT] = {OP_WAIT, wait_run},
};

static enum err_code run_phase(struct engine *e, struct op **ops, size_t n, unsigned phase,
                               struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (ops[i]->kind == phases[phase].kind && phases[phase].run(e, ops[i], err) != E_OK)
            return err->code;
    return E_OK;
}

/* What is done before a phase, for the batch as a whole.  Queues come first of all: whether an exchange names
 * one that is there decides about all of it. */
static enum err_code prepare_phase(struct engine *e, struct op **ops, size_t n, unsigned phase,
                                   struct err *err)
{
    if (phase == PHASE_FINISH)
        return exchange_logs(e, ops, n, err) != E_OK ? err->code : finish_plain(e, ops, n, err);
    if (phase == PHASE_SUBMIT) /* which may run ended jobs again */
        return links_follow(e, err) != E_OK ? err->code : submit_prepare_keys(e, ops, n, err);
    if (phase != PHASE_LOGS)
        return E_OK;
    if (submit_flush(e, err) != E_OK) /* what was emitted: the sweep looks at what the store has */
        return err->code;
    e->by_itself = true;
    if ((sweep_is_due(e) && sweep_run(e, err) != E_OK) || emit_settle(e, err) != E_OK)
        return err->code;
    e->by_itself = false;
    return E_OK;
}

static enum err_code run_phases(struct engine *e, struct op **ops, size_t n, struct err *err)
{
    for (unsigned p = 0; p < PHASE_COUNT; p++)
        if (prepare_phase(e, ops, n, p, err) != E_OK || run_phase(e, ops, n, p, err) != E_OK)
            return err->code;
    return E_OK;
}

static enum err_code settle_links(struct engine *e, struct err *err)
{
    e->by_itself = true;
    if (links_settle(e, err) != E_OK)
        return err->code;
    e->by_itself = false;
    return E_OK;
}

static enum err_code try_batch(struct engine *e, struct op **ops, size_t n, struct err *err)
{
    clear_batch(e);
    e->by_itself = e->passes_on = false;
    for (size_t i = 0; i < n; i++)
        reset_op(ops[i]);
    for (size_t i = 0; i < n; i++)
        if (ops[i]->kind == OP_NEWS)
            news_hear(e, &ops[i]->news);
    if (ids_require_room(e, err) != E_OK || reload(e, err) != E_OK ||
        (shared_must_begin(e, ops, n) && shared_begin(e, ops, n, err) != E_OK) ||
        instances_admit(e, ops, n, err) != E_OK || shared_watch_again(e, err) != E_OK)
        return err->code;
    if (clocks_settle(e, err) != E_OK || run_phases(e, ops, n, err) != E_OK ||
        submit_flush(e, err) != E_OK || settle_links(e, err) != E_OK ||
        keys_return(e, err) != E_OK || queue_write_streaks(e, err) != E_OK ||
        claims_grant(e, ops, n, err) != E_OK)
        return err->code;
    return engine_commit(e, err);
}

static void settle_batch(struct engine *e, struct op **ops, size_t n)
{
    struct err err = ERR_INIT;
    bool shrink = e->removed_some;

    e->woken = e->watch_again = false;
    e->step_us -= e->settled_us;
    leases_told(e);
    fanout_learn(e);
    apply_effects(e);
    answer_all(e, ops, n);
    clear_batch(e);
    news_settled(e);
    if (shrink && store_shrink(e->store, SHRINK_PAGES, &err) != E_OK)
        tell_trouble(e, &err);
}

static enum err_code try_one(struct engine *e, struct op *op, struct err *err)
{
    if (try_batch(e, &op, 1, err) == E_OK) {
        settle_batch(e, &op, 1);
        return E_OK;
    }
    undo_batch(e);
    tell_trouble(e, err);
    reset_op(op);
    op->err = *err;
    answer(op);
    return err->code;
}

/* The batch failed twice, or another server holds what it needs and may do so for long: each op for itself, so that
 * none can spoil the others.  A row that was damaged and asked for is the matter of its op alone.  Together they wait for locks for hardly more than SHORT_MS * SHORT_TIMES.  What the
 * engine does by itself rests meanwhile. */
static void run_one_by_one(struct engine *e, struct op **ops, size_t n, const struct err *why)
{
    int refused = 0;

    if (!why->bad_row || e->by_itself || n == 0)
        e->resume_at = e->now.steady_at + (e->passes_on ? PASS_ON_US : RESUME_US);
    for (size_t i = 0; i < n; i++) {
        struct err err = ERR_INIT;

        store_set_patience(e->store, refused < SHORT_TIMES ? SHORT_MS : SHORTEST_MS);
        refused += try_one(e, ops[i], &err) != E_OK;
    }
    store_set_patience(e->store, 0);
    answer_all(e, NULL, 0); /* those who wait, and whose time is up */
}

/* What may have happened must not be done again. */
static void refuse_all(struct engine *e, struct op **ops, size_t n, const struct err *err)
{
    tell_trouble(e, err);
    for (size_t i = 0; i < n; i++) {
        reset_op(ops[i]);
        ops[i]->err = *err;
        answer(ops[i]);
    }
    answer_all(e, NULL, 0);
}

static void run_batch(struct engine *e, struct op **ops, size_t n)
{
    struct err err = ERR_INIT;
    int races = 0;

    for (int attempts = 0; attempts < 2; attempts++) {
        if (try_batch(e, ops, n, &err) == E_OK) {
            settle_batch(e, ops, n);
            return;
        }
        bool busy = e->shared && store_is_busy(e->store);
        bool unsure = e->shared && store_outcome_is_lost(e->store);
        bool lost_race = e->shared && store_is_conflict(e->store) && races++ < RACES_MAX;

        undo_batch(e);
        shared_mend(e);
        if (unsure) {
            refuse_all(e, ops, n, &err);
            return;
        }
        /* A damaged row would be so again, and has kept nobody from renewing a lease. */
        if (busy || err.bad_row) {
            tell_trouble(e, &err);
            run_one_by_one(e, ops, n, &err);
            return;
        }
        if (lost_race)
            attempts--;
        else
            tell_trouble(e, &err);
    }
    clocks_outage(e);
    run_one_by_one(e, ops, n, &err);
}

/* One to few queues is made at once, of another the targets are named at least. */
static size_t rows_of_publish(const struct engine *e, const struct publish *x)
{
    size_t n = e->queues.count <= PUBLISH_ROWS ? 0 : topic_count(e, x->topic);

    return n < PUBLISH_ROWS ? PUBLISH_ROWS : n;
}

/* Estimated row count. */
static size_t rows_of(const struct engine *e, const struct op *op)
{
    switch (op->kind) {
    case OP_SUBMIT: return op->submit.n_items;
    case OP_EXCHANGE:
        return op->exchange.n_finish + op->exchange.n_touch + (size_t)op->exchange.max +
               (op->exchange.n_emit == 0 ? 0 : emit_cost(e, &op->exchange).rows);
    case OP_DEFINE: return op->define.puts[DEFINITION_QUEUE].count;
    case OP_EMIT: return topic_cost(e, op->emit.jobs, op->emit.n_jobs).rows;
    case OP_PUBLISH: return rows_of_publish(e, &op->publish);
    case OP_ACT:
    case OP_BULK:
    case OP_QUEUE:
    case OP_LOG:
    case OP_WAIT:
    case OP_NEWS:
    case OP_SIGNAL:
    case OP_JOIN:
    case OP_SUBSCRIBE:
    case OP_KIND_COUNT: break;
    }
    return 1;
}

void engine_run(struct engine *e, struct op *ops, struct now now)
{
    size_t first = 0;
    size_t rows = 0;

    clocks_read(e, now);
    shared_beat(e);
    shared_look_again(e);
    VEC_CLEAR(&e->batch);
    for (struct op *op = ops; op != NULL; op = op->next)
        VEC_PUSH(&e->batch, op);
    for (size_t i = 0; i < e->batch.count; i++) {
        rows += rows_of(e, e->batch.items[i]);
        if (rows < BATCH_ROWS || i + 1 == e->batch.count)
            continue;
        run_batch(e, e->batch.items + first, i + 1 - first);
        first = i + 1;
        rows = 0;
    }
    run_batch(e, e->batch.items + first, e->batch.count - first);
}

int64_t engine_next_us(const struct engine *e, struct now given)
{
    struct now now = shared_now(e, given);
    int64_t steady = sweep_next_steady_at(e);
    int64_t wall = sweep_next_wall_at(e);
    int64_t us = TIME_NEVER;

    if (e->wake_at < steady)
        steady = e->wake_at;
    if (shared_next_at(e) < steady)
        steady = shared_next_at(e);
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

const struct siphash_key *engine_lease_key(const struct engine *e)
{
    return &e->lease_key;
}

const struct engine_stats *engine_get_stats(const struct engine *e)
{
    return &e->stats;
}
