/*
 * The batch: ops in, one transaction, answers out.  phases.c has the order in which it runs.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/batch/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/batch/counts.h"
#include "engine/batch/effects.h"
#include "engine/batch/phases.h"
#include "engine/claims/claim.h"
#include "engine/followups/spread.h"
#include "engine/followups/topic.h"
#include "engine/jobs/keys.h"
#include "engine/shared/news.h"
#include "engine/state.h"
#include "store/jobs/claims.h"
#include "store/meta.h"
#include "store/shared.h"

#define RESUME_US (1 * US_PER_S)
#define SKIP_US US_PER_MS            /* pause after finding a damaged row, which is then skipped */
#define WALL_LOOK_US (60 * US_PER_S) /* longest time between two looks: the clock may be set */

enum {
    SHRINK_PAGES = 256,
    BATCH_ROWS = 10000,              /* estimated; further ops go into another transaction */
    PUBLISH_ROWS = FANOUT_ROWS / 64, /* least estimate of a publication: core/route/fanout.h */
    KEPT_JOBS = 2048,                /* room for new jobs that is kept between batches */
    RACES_MAX = 10,                  /* maximum repeats of a batch because of other servers */
    SHORT_MS = 50,                   /* lock timeout of an op that runs alone, … */
    SHORT_TIMES = 10,                /* … until this many ops have failed, */
    SHORTEST_MS = 5,                 /* … and after that */
};

/* ---- the batch ---- */

struct batch *current_batch(struct engine *e)
{
    return &e->batch;
}

void batch_clear(struct engine *e)
{
    for (size_t i = 0; i < e->batch.new_claims.count; i++)
        free(e->batch.new_claims.items[i]);
    VEC_CLEAR(&e->batch.new_claims);
    VEC_CLEAR(&e->batch.ended_attempts);
    VEC_CLEAR(&e->batch.extended_claims);
    for (size_t i = 0; i < e->batch.gone_queues.count; i++)
        queue_free(e->batch.gone_queues.items[i]);
    VEC_CLEAR(&e->batch.gone_queues);
    VEC_CLEAR(&e->batch.judged_claims);
    if (e->batch.new_jobs.capacity > KEPT_JOBS)
        VEC_DEINIT(&e->batch.new_jobs);
    VEC_CLEAR(&e->batch.new_jobs);
    VEC_CLEAR(&e->batch.unfit_jobs);
    keys_clear(e);
    VEC_CLEAR(&e->batch.expiries);
    VEC_CLEAR(&e->batch.streak_ends);
    VEC_CLEAR(&e->batch.endings);
    VEC_CLEAR(&e->batch.ended);
    VEC_CLEAR(&e->batch.events);
    VEC_CLEAR(&e->batch.new_cancels);
    VEC_CLEAR(&e->batch.reported_cancels);
    followups_clear(e);
    gates_clear(e);
    filters_clear(e);
    groups_clear(e);
    counts_clear(&e->batch.counts);
    arena_clear(&e->batch.arena);
    e->batch.queues_changed = e->batch.workers_changed = e->batch.definitions_raised =
        e->batch.removed_some = false;
    e->batch.has_written = false;
    e->batch.settled_step_us = 0;
    e->batch.tally = (struct tally){0};
    shared_clear(e);
}

void batch_deinit(struct engine *e)
{
    struct batch *b = &e->batch;

    counts_deinit(&b->counts);
    arena_deinit(&b->arena);
    VEC_DEINIT(&b->new_jobs);
    VEC_DEINIT(&b->unfit_jobs);
    keys_clear(e);
    VEC_DEINIT(&b->keys.entries);
    VEC_DEINIT(&b->expiries);
    VEC_DEINIT(&b->streak_ends);
    VEC_DEINIT(&b->endings);
    VEC_DEINIT(&b->gone_queues);
    VEC_DEINIT(&b->new_claims);
    VEC_DEINIT(&b->ended_attempts);
    VEC_DEINIT(&b->extended_claims);
    VEC_DEINIT(&b->judged_claims);
    VEC_DEINIT(&b->ended);
    VEC_DEINIT(&b->events);
    VEC_DEINIT(&b->new_cancels);
    VEC_DEINIT(&b->reported_cancels);
    followups_deinit(e);
    filters_deinit(e);
    groups_deinit(e);
}

void report_trouble(struct engine *e, const struct err *err)
{
    atomic_store(&e->stats.last_error_at, e->now.wall_at);
    if (e->config.on_trouble != NULL)
        e->config.on_trouble(e->config.trouble_ctx, err);
}

/* Has the leases that the batch judged judged again. */
static void look_again(struct engine *e)
{
    for (size_t i = 0; i < e->batch.judged_claims.count; i++) {
        struct live_claim *claim = claims_find(&e->claims, e->batch.judged_claims.items[i].token);

        if (claim != NULL)
            claims_set_check(&e->claims, claim, engine_lease_at(e));
    }
}

/* Reloads what memory holds if it no longer matches the store. */
enum err_code batch_reload(struct engine *e, struct err *err)
{
    if (!e->stale)
        return E_OK;
    workers_free(e);
    bulk_free(e);
    emitters_free(e);
    if ((e->queues_stale && !must_ask_store(e) && queues_load(e, err) != E_OK) ||
        bulk_load(e, err) != E_OK || emitters_load(e, err) != E_OK || workers_load(e, err) != E_OK)
        return err->code;
    e->stale = e->queues_stale = false;
    return E_OK;
}

/* Rolls the batch back.  What memory took from it is read again from the store, now or, if that
 * fails too, before the next batch. */
static void undo_batch(struct engine *e)
{
    struct err err = ERR_INIT;

    e->stale = !must_ask_store(e) || e->batch.workers_changed;
    e->bulk.has_work = e->emitters.is_unsettled = must_ask_store(e);
    e->followups.has_wakeups = e->followups.has_revivals = e->followups.has_fanouts = true;
    groups_undo(e);
    e->queues_stale = e->queues_stale || e->batch.queues_changed;
    store_rollback(e->store);
    e->batch.in_transaction = false;
    if (e->batch.queues_changed)
        e->shared.queue_changes = -1;
    claims_ungrant(e);
    look_again(e);
    batch_clear(e);
    atomic_fetch_add(&e->stats.rollbacks, 1);
    e->sweep.due_at = 0;
    e->sweep.retain_at = 0;
    clock_reset(e);
    e->waiting.grants_due = true;
    queues_reset_ready(e);
    gates_forget(e);
    if (batch_reload(e, &err) != E_OK)
        report_trouble(e, &err);
}

static void reset_op(struct op *op)
{
    buf_clear(&op->reply);
    buf_clear(&op->cancels);
    buf_clear(&op->logs);
    op->picked = NULL;
    op->n_picked = op->n_granted = 0;
    op->answer_now = false;
    op->plain = NULL;
    op->ids = NULL;
    op->err = ERR_INIT;
    op->status = 200;
}

static enum err_code try_batch(struct engine *e, struct op **ops, size_t n, struct err *err)
{
    batch_clear(e);
    e->batch.own_work = e->batch.found_damage = false;
    e->batch.ops = ops;
    e->batch.n_ops = n;
    e->batch.rounds_before = store_traffic(e->store).rounds;
    for (size_t i = 0; i < n; i++)
        reset_op(ops[i]);
    return phases_run(e, &e->batch, err);
}

static void settle_batch(struct engine *e, struct op **ops, size_t n)
{
    struct err err = ERR_INIT;
    bool shrink = e->batch.removed_some;

    /* Jobs that became ready after the claims of this batch are granted by the next. */
    e->groups.made_ready = e->waiting.grants_due = e->batch.groups.again;
    e->shared.news_missed = false;
    e->clocks.step_us -= e->batch.settled_step_us;
    leases_extend(e);
    fanout_learn(e);
    effects_apply(e);
    answer_all(e, ops, n);
    batch_clear(e);
    news_send_ready(e);
    if (shrink && store_shrink(e->store, SHRINK_PAGES, &err) != E_OK)
        report_trouble(e, &err);
}

static enum err_code try_one(struct engine *e, struct op *op, struct err *err)
{
    if (try_batch(e, &op, 1, err) == E_OK) {
        settle_batch(e, &op, 1);
        return E_OK;
    }
    undo_batch(e);
    report_trouble(e, err);
    reset_op(op);
    op->err = *err;
    answer(op);
    return err->code;
}

/* The batch failed twice, or another server locks what it needs, perhaps for long: runs each op by
 * itself, so that none can spoil the others.  A damaged row fails only the op that asked for it.
 * Together the ops wait for locks for hardly more than SHORT_MS * SHORT_TIMES.  The engine's own
 * work rests meanwhile. */
static void run_one_by_one(struct engine *e, struct op **ops, size_t n, const struct err *why)
{
    int refused = 0;

    if (!why->bad_row || e->batch.own_work || n == 0)
        e->sweep.resume_at = e->now.steady_at + (e->batch.found_damage ? SKIP_US : RESUME_US);
    for (size_t i = 0; i < n; i++) {
        struct err err = ERR_INIT;

        store_set_patience(e->store, refused < SHORT_TIMES ? SHORT_MS : SHORTEST_MS);
        refused += try_one(e, ops[i], &err) != E_OK;
    }
    store_set_patience(e->store, 0);
    answer_all(e, NULL, 0); /* waiting ops whose time is up */
}

/* The commit may have succeeded: none of the ops may run again. */
static void refuse_all(struct engine *e, struct op **ops, size_t n, const struct err *err)
{
    report_trouble(e, err);
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
        bool busy = store_is_busy(e->store);
        bool unsure = store_outcome_is_lost(e->store);
        bool lost_race = store_is_conflict(e->store) && races++ < RACES_MAX;

        undo_batch(e);
        shared_rejoin(e);
        if (unsure) {
            refuse_all(e, ops, n, &err);
            return;
        }
        /* Running again would meet the damaged row again.  No lease was affected. */
        if (busy || err.bad_row) {
            report_trouble(e, &err);
            run_one_by_one(e, ops, n, &err);
            return;
        }
        if (lost_race)
            attempts--;
        else
            report_trouble(e, &err);
    }
    clocks_outage(e);
    run_one_by_one(e, ops, n, &err);
}

/* A publication to few queues creates its jobs at once; a larger one writes at least a row for each
 * target. */
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
    default: return 1;
    }
}

void engine_run(struct engine *e, struct op *ops, struct now now)
{
    size_t first = 0;
    size_t rows = 0;

    clocks_read(e, now);
    shared_beat(e);
    shared_recheck(e);
    gates_wake(e);
    VEC_CLEAR(&e->asked);
    for (struct op *op = ops; op != NULL; op = op->next)
        VEC_PUSH(&e->asked, op);
    for (size_t i = 0; i < e->asked.count; i++) {
        rows += rows_of(e, e->asked.items[i]);
        if (rows < BATCH_ROWS || i + 1 == e->asked.count)
            continue;
        run_batch(e, e->asked.items + first, i + 1 - first);
        first = i + 1;
        rows = 0;
    }
    run_batch(e, e->asked.items + first, e->asked.count - first);
}

int64_t engine_next_us(const struct engine *e, struct now given)
{
    struct now now = shared_now(e, given);
    int64_t steady = sweep_next_steady_at(e);
    int64_t wall = sweep_next_wall_at(e);
    int64_t opens_at = gates_next_at(e);
    int64_t us = TIME_NEVER;

    if (e->waiting.wake_at < steady)
        steady = e->waiting.wake_at;
    if (shared_next_at(e) < steady)
        steady = shared_next_at(e);
    if (steady != TIME_NEVER)
        us = steady - now.steady_at;
    if (opens_at < wall)
        wall = opens_at;
    if (wall != TIME_NEVER) {
        int64_t wall_us = wall - now.wall_at;

        if (wall_us > WALL_LOOK_US)
            wall_us = WALL_LOOK_US;
        us = wall_us < us ? wall_us : us;
    }
    int64_t rest_us = e->sweep.resume_at - now.steady_at; /* after a failure: not at once again */

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
