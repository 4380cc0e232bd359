/*
 * A store that other servers write to as well.
 *
 * At the start of its transaction a batch learns the database's time and whether queues have
 * changed.  Ready lists are filled for one batch by a scan that skips what others have locked; only
 * that a queue was empty is remembered, until news says otherwise.  Claims in memory are those of
 * this server's node.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/shared/shared.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/batch/transaction.h"
#include "engine/claims/claim.h"
#include "engine/claims/ready.h"
#include "engine/gates/gating.h"
#include "engine/groups/group_op.h"
#include "engine/shared/news.h"
#include "engine/state.h"
#include "store/groups/groups.h"
#include "store/jobs/claims.h"
#include "store/jobs/jobs.h"
#include "store/jobs/ready.h"
#include "store/meta.h"
#include "store/shared.h"
#include "store/work.h"

/* How often a server reports that it is alive, and for how long it then counts as alive.  Both are
 * shorter for one that has granted leases: its jobs wait until they are judged.  The others look
 * again when a member's time has passed, so that a dead one is taken over soon after ALIVE_US,
 * however rarely an idle server beats. */
#define BEAT_US (10 * US_PER_S)
#define ALIVE_US (14 * US_PER_S)
#define BEAT_BUSY_US (2 * US_PER_S)
#define ALIVE_BUSY_US (6 * US_PER_S)
#define BEAT_FAILED_US (200 * US_PER_MS)
#define TAKEOVER_US (200 * US_PER_MS) /* wait after a member's time has passed */

#define ADOPTED_TEXT_MAX 1000 /* bytes of the names of dead servers */

static bool has_granted(const struct engine *e)
{
    return e->claims.heap.count + e->batch.new_claims.count > 0;
}

static int64_t beat_us(const struct engine *e)
{
    return has_granted(e) ? BEAT_BUSY_US : BEAT_US;
}

static int64_t alive_us(const struct engine *e)
{
    return has_granted(e) ? ALIVE_BUSY_US : ALIVE_US;
}

/* ---- time ---- */

bool shared_sets_clock(const struct engine *e)
{
    return e->shared.is_on && e->config.clock_of_store;
}

struct now shared_now(const struct engine *e, struct now now)
{
    if (shared_sets_clock(e))
        now.wall_at = now.steady_at + now.asleep_us + e->shared.store_ahead_us;
    return now;
}

enum err_code shared_move_due(struct engine *e, int64_t step_us, struct err *err)
{
    return e->shared.is_on ? store_due_bound(e->store, e->now.wall_at, err)
                           : store_due_shift(e->store, step_us, err);
}

/* ---- memory and the store ---- */

bool must_ask_store(const struct engine *e)
{
    return e->shared.is_on;
}

bool must_tell_store(const struct engine *e)
{
    return e->shared.is_on;
}

bool shared_is_alone(const struct engine *e)
{
    return !e->shared.is_on || e->shared.exclusive;
}

int64_t shared_line_number(struct engine *e)
{
    return e->shared.is_on ? engine_new_id(e) : 0;
}

/* Reads the contents of the first ready jobs for all claims of the batch at once. */
static enum err_code fill_sole(struct engine *e, struct queue *q, bool held, struct err *err)
{
    struct ready *r = &q->ready;
    size_t n = q->wanted;

    if (ready_fill(r, e->store, q->id, err) != E_OK)
        return err->code;
    if (!held || n == 0)
        return E_OK;
    q->wanted = 0;
    return store_ready_fetch(e->store, r->refs + r->head, n < r->count ? n : r->count,
                             &e->batch.arena, err);
}

enum err_code shared_fill_ready(struct engine *e, struct queue *q, bool held, struct err *err)
{
    struct ready *r = &q->ready;
    bool others = false;

    if (e->shared.only_server)
        return fill_sole(e, q, held, err);
    if (!e->shared.is_on || !held)
        return ready_fill(r, e->store, q->id, err);
    if (r->count > 0 || r->complete)
        return E_OK;
    if (ready_fill_held(r, e->store, q->id, q->wanted, err) != E_OK)
        return err->code;
    if (r->complete && store_ready_others(e->store, q->id, r->refs, r->count, &e->batch.arena,
                                          &others, err) != E_OK)
        return err->code;
    e->shared.saw_locked_ready = e->shared.saw_locked_ready || others;
    return E_OK;
}

/* ---- joining ---- */

static enum err_code load_claims(struct engine *e, struct err *err)
{
    return store_claims_of_node(e->store, e->node, lease_take_claim, e, err);
}

static enum err_code begin(struct engine *e, enum store_company company, struct store_view *view,
                           struct err *err)
{
    e->batch.in_transaction = true;
    if (e->config.clock_of_store)
        e->clocks.caller = engine_clock(e);
    if (store_begin_shared(e->store, company, view, err) != E_OK)
        return err->code;
    clocks_of_store(e, view->now_at);
    e->shared.exclusive = company == STORE_ALONE;
    if (e->shared.only_server != view->sole) /* lists were filled under other rules */
        queues_reset_ready(e);
    e->shared.only_server = view->sole;
    return E_OK;
}

static enum err_code load_queues(struct engine *e, const struct store_view *view, struct err *err)
{
    if (e->shared.queue_changes == view->changes)
        return E_OK;
    if (queues_load(e, err) != E_OK)
        return err->code;
    e->groups.held_is_stale = true;
    e->shared.queue_changes = view->changes;
    e->waiting.grants_due = true;
    return E_OK;
}

/* A server that joins again keeps the clock it has accepted, and the ids it has handed out. */
static enum err_code begin_ids(struct engine *e, const struct store_seat *seat, struct err *err)
{
    if (e->ids.end == 0) {
        if (ids_open(e, seat->ids_floor, seat->ids_newest, err) != E_OK)
            return err->code;
        if (e->ids.mark >= seat->ids_floor)
            return E_OK;
        /* The clock is trusted though the store's newest ids are later: for all servers. */
        return engine_write(e, err) != E_OK ? err->code
                                            : store_meta_set(e->store, META_IDS, e->ids.mark, err);
    }
    e->ids.mark = seat->ids_floor;
    id_gen_init(&e->ids.gen, e->node,
                seat->ids_floor > e->ids.gen.last ? seat->ids_floor : e->ids.gen.last);
    return E_OK;
}

/* In its own transaction, while no other server has one: the first server fills a new store. */
static enum err_code load_all(struct engine *e, const struct store_seat *seat, struct err *err)
{
    struct store_view view;

    e->shared.queue_changes = -1;
    if (begin(e, STORE_ALONE, &view, err) != E_OK || begin_ids(e, seat, err) != E_OK ||
        load_queues(e, &view, err) != E_OK || leases_load(e, err) != E_OK ||
        queue_add_default(e, err) != E_OK || load_claims(e, err) != E_OK ||
        engine_write(e, err) != E_OK || groups_open(e, err) != E_OK ||
        store_due_bound(e->store, e->now.wall_at, err) != E_OK)
        return err->code;
    workers_free(e);
    e->bulk.has_work = true;
    return workers_load(e, err) != E_OK ? err->code : engine_commit(e, err);
}

static enum err_code join(struct engine *e, struct err *err)
{
    struct store_seat seat;

    if (store_join(e->store, e->config.member, alive_us(e), &seat, err) != E_OK)
        return err->code;
    e->shared.only_server = false; /* others may have come and gone */
    e->node = seat.node;
    claims_deinit(&e->claims);
    claims_init(&e->claims);
    e->emitters.is_unsettled = e->followups.has_wakeups = e->followups.has_revivals =
        e->followups.has_fanouts = true;
    e->sweep.due_at = e->sweep.retain_at = 0;
    clock_reset(e);
    e->shared.beat_at = e->now.steady_at;
    enum err_code code = load_all(e, &seat, err);

    if (code != E_OK) { /* the claims of its node are not in memory yet */
        store_rollback(e->store);
        store_unseat(e->store);
        e->batch.in_transaction = false;
    }
    return code;
}

enum err_code shared_open(struct engine *e, struct err *err)
{
    ASSERT(e->config.member != NULL);
    e->shared.is_on = true;
    e->shared.news = BUF_INIT(STORE_NEWS_MAX);
    e->shared.ready_news_at = e->shared.recheck_at = TIME_NEVER;
    if (join(e, err) != E_OK)
        return err->code;
    /* Workers could not be heard while this server was away: they keep their names for a lease,
     * whatever an earlier process knew of pauses. */
    clocks_outage(e);
    return E_OK;
}

void shared_close(struct engine *e)
{
    if (!e->shared.is_on)
        return;
    store_leave(e->store);
    buf_deinit(&e->shared.news);
}

/* ---- the batch's transaction ---- */

/* Whether memory does not know that the queue has no job that may start. */
static bool may_have_jobs(struct engine *e, struct queue *q)
{
    return gating_of(e, q) != NULL ? gating_may_start(e, q) : !ready_is_known_empty(&q->ready);
}

/* Whether a claim must read the store: memory may know that its queues have no ready jobs. */
static bool claim_must_look(struct engine *e, const struct op *op)
{
    const struct exchange *x = &op->exchange;

    if (claim_is_outdated(e, x))
        return false;
    for (size_t i = 0; i < x->n_queues; i++) {
        struct queue *q = queue_find(e, x->queues[i].name);
        bool wanted = x->max > 0 && x->queues[i].max > 0;

        if (q == NULL || (wanted && queue_starts(q) && may_have_jobs(e, q)))
            return true;
    }
    return false;
}

static bool is_bare_claim(const struct op *op)
{
    return op->kind == OP_EXCHANGE && op->exchange.n_finish == 0 && op->exchange.n_touch == 0 &&
           op->exchange.n_emit == 0 && !op->exchange.all;
}

/* Whether the batch reads the store: then its transaction begins before anything else. */
static bool must_begin(struct engine *e, struct op **ops, size_t n)
{
    if (sweep_is_due(e) || e->clocks.step_us != 0 || e->emitters.is_unsettled ||
        followups_are_due(e) || e->shared.queue_changes < 0 || e->shared.news_missed)
        return true;
    for (size_t i = 0; i < n; i++)
        if (ops[i]->kind != OP_NEWS &&
            (!is_bare_claim(ops[i]) || worker_has_changed(e, &ops[i]->exchange) ||
             claim_must_look(e, ops[i])))
            return true;
    for (const struct op *op = e->waiting.claims; e->waiting.grants_due && op != NULL;
         op = op->next)
        if (claim_must_look(e, op))
            return true;
    return false;
}

/* Adds up how many jobs of each queue the claims of the batch may get. */
static void count_wanted(struct engine *e, struct op *op)
{
    const struct exchange *x = &op->exchange;

    for (size_t i = 0; i < x->n_queues; i++) {
        struct queue *q = queue_find(e, x->queues[i].name);
        int most = x->queues[i].max < x->max ? x->queues[i].max : x->max;

        if (q != NULL)
            q->wanted += (size_t)most;
    }
}

enum err_code shared_begin(struct engine *e, struct err *err)
{
    struct op **ops = e->batch.ops;
    size_t n = e->batch.n_ops;
    bool subscribers = e->sweep.subscribers_at <= e->now.wall_at;
    enum store_company company = subscribers ? STORE_ALONE : STORE_BESIDE;
    struct store_view view;

    if (!e->shared.is_on || !must_begin(e, ops, n))
        return E_OK;
    for (size_t i = 0; i < n; i++)
        if (ops[i]->kind == OP_DEFINE || ops[i]->kind == OP_QUEUE || ops[i]->kind == OP_SUBSCRIBE ||
            group_op_is_alone(ops[i]))
            company = STORE_ALONE;
    if (begin(e, company, &view, err) != E_OK || load_queues(e, &view, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (ops[i]->kind == OP_EXCHANGE && ops[i]->exchange.parts & EXCHANGE_JOBS)
            count_wanted(e, ops[i]);
    for (struct op *op = e->waiting.claims; op != NULL; op = op->next)
        count_wanted(e, op);
    return E_OK;
}

enum err_code shared_begin_write(struct engine *e, struct err *err)
{
    struct store_view view;

    if (!e->shared.is_on) {
        if (store_begin(e->store, err) != E_OK)
            return err->code;
        e->batch.in_transaction = true;
        return E_OK;
    }
    if (begin(e, STORE_BESIDE, &view, err) != E_OK)
        return err->code;
    if (view.changes == e->shared.queue_changes)
        return E_OK;
    e->shared.queue_changes = -1; /* the batch runs again, and begins with the queues */
    return err_set(err, E_UNAVAILABLE, "another server has just changed a queue");
}

/* ---- the end of a batch ---- */

enum err_code shared_sign(struct engine *e, int64_t ids_mark, struct err *err)
{
    if (!e->shared.is_on)
        return ids_mark == e->ids.mark ? E_OK : store_meta_set(e->store, META_IDS, ids_mark, err);
    if (news_write(e, err) != E_OK)
        return err->code;
    int64_t soon_at = e->now.steady_at + beat_us(e);

    if (soon_at < e->shared.beat_at)
        e->shared.beat_at = soon_at;
    return store_sign(e->store, alive_us(e), ids_mark, err);
}

void shared_clear(struct engine *e)
{
    if (!e->shared.is_on)
        return;
    for (size_t i = 0; i < e->queues.count; i++) {
        struct queue *q = e->queues.items[i];

        q->wanted = 0;
        q->made_ready = false;
        if ((!e->shared.only_server && !ready_is_known_empty(&q->ready)) ||
            e->shared.saw_locked_ready)
            ready_reset(&q->ready);
        gating_clear(e, q);
    }
    if (e->shared.saw_locked_ready || e->shared.saw_held_gate)
        e->shared.recheck_at = e->now.steady_at + LOCKED_PAUSE_US;
    e->shared.saw_locked_ready = e->shared.saw_held_gate = false;
    buf_clear(&e->shared.news);
    e->shared.news_full = false;
    e->emitters.is_unsettled = e->emitters.is_unsettled || e->emitters.settling.count > 0;
    emitters_free(e);
}

/* ---- looking after each other ---- */

/* News of lanes with ready jobs may have died with a server: all look at them again. */
static void tell_lanes(struct engine *e)
{
    for (size_t i = 0; i < e->queues.count; i++)
        if (e->queues.items[i]->has_lanes || e->queues.items[i]->def.lane.key_text.size > 0)
            news_add_lane(e, e->queues.items[i]->id, 0);
}

static enum err_code adopt(struct engine *e, struct err *err)
{
    struct store_view view;
    int64_t claims = 0;

    CLEANUP(buf) struct buf dead = BUF_INIT(ADOPTED_TEXT_MAX);

    if (begin(e, STORE_BESIDE, &view, err) != E_OK ||
        store_adopt(e->store, &claims, &dead, err) != E_OK)
        return err->code;
    e->groups.has_work = true; /* theirs, if any is left */
    if (dead.size > 0)
        tell_lanes(e);
    if (engine_write(e, err) != E_OK || store_groups_leave_dead(e->store, err) != E_OK ||
        (claims > 0 && load_claims(e, err) != E_OK) || engine_commit(e, err) != E_OK)
        return err->code;
    if (dead.size > 0)
        gates_forget(e);
    if (dead.size > 0 && e->config.on_adopted != NULL)
        e->config.on_adopted(e->config.adopted_ctx, buf_text(&dead), claims);
    return E_OK;
}

static void heed(struct engine *e, const struct store_pulse *pulse)
{
    if (pulse->due_at < e->sweep.due_at)
        e->sweep.due_at = pulse->due_at;
    clock_look_at(e, pulse->clock_at);
    e->emitters.is_unsettled = e->emitters.is_unsettled || pulse->unsettled;
    e->followups.has_wakeups = e->followups.has_wakeups || pulse->releases;
    e->followups.has_revivals = e->followups.has_revivals || pulse->revivals;
    e->followups.has_fanouts = e->followups.has_fanouts || pulse->fanouts;
    e->bulk.has_work = e->bulk.has_work || pulse->work;
    e->groups.has_work = e->groups.has_work || pulse->work;
    if (pulse->changes != e->shared.queue_changes)
        e->shared.queue_changes = -1;
    if (!pulse->ready)
        return;
    for (size_t i = 0; i < e->queues.count; i++)
        ready_reset(&e->queues.items[i]->ready); /* the news of it may have died with its server */
    e->waiting.grants_due = true;
}

/* Sets the time of the next beat: its turn, or when another member's time has passed. */
static void plan_beat(struct engine *e, const struct store_pulse *pulse)
{
    int64_t in_us = beat_us(e);
    int64_t takeover_us = pulse->others_until_at - pulse->now_at + TAKEOVER_US;

    if (pulse->others_until_at != TIME_NEVER && takeover_us < in_us)
        in_us = takeover_us;
    e->shared.beat_at = e->now.steady_at + in_us;
}

static enum err_code beat(struct engine *e, struct err *err)
{
    struct store_pulse pulse;

    e->shared.beat_at = e->now.steady_at + beat_us(e);
    if (!store_is_member(e->store))
        return join(e, err);
    size_t n = 0;
    struct seen_worker *workers = workers_to_report(e, &n);

    if (store_beat(e->store, alive_us(e), workers, n, &pulse, err) != E_OK)
        return err->code;
    workers_reported(e, workers, n);
    if (!store_is_member(e->store))
        return join(e, err);
    clocks_of_store(e, pulse.now_at);
    heed(e, &pulse);
    plan_beat(e, &pulse);
    return pulse.dead ? adopt(e, err) : E_OK;
}

void shared_beat(struct engine *e)
{
    struct err err = ERR_INIT;

    if (!e->shared.is_on || (e->shared.beat_at > e->now.steady_at && store_is_member(e->store)))
        return;
    batch_clear(e);
    if (beat(e, &err) == E_OK) {
        batch_clear(e);
        return;
    }
    store_rollback(e->store);
    e->batch.in_transaction = false;
    batch_clear(e);
    report_trouble(e, &err);
    clocks_outage(e);
    e->shared.beat_at = e->now.steady_at + BEAT_FAILED_US;
}

void shared_recheck(struct engine *e)
{
    if (!e->shared.is_on || e->shared.recheck_at > e->now.steady_at)
        return;
    e->shared.recheck_at = TIME_NEVER;
    e->waiting.grants_due = true;
}

void shared_rejoin(struct engine *e)
{
    if (e->shared.is_on && !store_is_member(e->store))
        shared_beat(e);
}

int64_t shared_next_at(const struct engine *e)
{
    if (!e->shared.is_on)
        return TIME_NEVER;
    int64_t next_at = e->shared.ready_news_at < e->shared.beat_at ? e->shared.ready_news_at
                                                                  : e->shared.beat_at;

    return e->shared.recheck_at < next_at ? e->shared.recheck_at : next_at;
}

/* ---- single jobs ---- */

enum err_code lock_job(struct engine *e, int64_t id, struct err *err)
{
    return e->shared.is_on ? store_job_lock(e->store, id, err) : E_OK;
}

static void find_work(void *ctx, const struct stored_work *work)
{
    *(bool *)ctx = work->finished_at == 0;
}

enum err_code shared_watch(struct engine *e, int64_t id, bool *ret_over, struct err *err)
{
    bool works = false;
    bool found = false;
    bool hit = false;
    struct job was;

    if (!e->shared.is_on)
        return E_OK;
    if (store_job_load(e->store, id, LOAD_LIVE, &e->batch.arena, &was, &found, err) != E_OK)
        return err->code;
    if (!found) {
        if (store_work_find(e->store, id, find_work, &works, err) != E_OK)
            return err->code;
        *ret_over = !works;
        return E_OK;
    }
    *ret_over = false;
    if (was.watched)
        return E_OK;
    struct job now = was;

    now.watched = true;
    if (engine_write(e, err) != E_OK || store_job_update(e->store, &was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, id, "it is not as it was read", err);
    return E_OK;
}

enum err_code shared_check_watched(struct engine *e, struct err *err)
{
    for (struct op *op = e->waiting.end_watchers; e->shared.news_missed && op != NULL;
         op = op->next) {
        bool over = false;

        if (shared_watch(e, op->wait.id, &over, err) != E_OK)
            return err->code;
        if (over)
            VEC_PUSH(&e->batch.ended, op->wait.id);
    }
    return E_OK;
}
