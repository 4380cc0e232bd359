/* SPDX-License-Identifier: MIT */
#include "engine/claims/claim.h"

#include <limits.h>
#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "engine/batch/counts.h"
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/claims/ready.h"
#include "engine/followups/route.h"
#include "engine/gates/gating.h"
#include "engine/jobs/finish.h"
#include "engine/reads/job_json.h"
#include "engine/state.h"
#include "store/jobs/claims.h"
#include "store/jobs/jobs.h"
#include "store/jobs/logs.h"
#include "store/jobs/ready.h"

/* Payload bytes of all jobs of one claim; the last job may exceed it.  As JSON a payload takes at
 * most 2.5 times its size. */
#define GRANT_BYTES ((size_t)8 << 20)
#define GROUP_BYTES ((size_t)2 << 20) /* data of groups in one reply; more is left out */

_Static_assert((GRANT_BYTES + JOB_BYTES_MAX) * 5 / 2 + GROUP_BYTES < OP_REPLY_MAX,
               "the reply must have room for all granted jobs");

/* ---- checking the request ---- */

bool claim_is_outdated(const struct engine *e, const struct exchange *x)
{
    return x->has_definitions && x->definitions != e->definitions;
}

static bool resolve_queues(struct engine *e, struct op *op)
{
    const struct exchange *x = &op->exchange;
    struct queue **queues = op->queues;

    if (queues == NULL)
        op->queues = queues = arena_array(&op->arena, x->n_queues, sizeof(struct queue *));
    op->generation = e->generation;
    for (size_t i = 0; i < x->n_queues; i++) {
        queues[i] = queue_find(e, x->queues[i].name);
        if (queues[i] == NULL) {
            queue_unknown(e, x->queues[i].name, E_INVALID, &op->err);
            return false;
        }
    }
    return true;
}

bool exchange_is_sound(struct engine *e, struct op *op)
{
    const struct exchange *x = &op->exchange;

    if (op->err.code != E_OK || emit_is_too_much(e, x, &op->err))
        return false;
    if (!(x->parts & EXCHANGE_JOBS))
        return true;
    ASSERT(x->max >= 0 && x->max <= OP_CLAIM_MAX && x->n_queues <= OP_CLAIM_QUEUES_MAX);
    ASSERT(x->lease_us >= LEASE_MIN_US && x->lease_us <= LEASE_MAX_US);
    /* A claim with old definitions may name removed queues. */
    return claim_is_outdated(e, x) || resolve_queues(e, op);
}

/* ---- granting ---- */

struct granting {
    const struct queue *queue;
    size_t n_queues; /* how often the queue changed */
    bool members;    /* some are in groups or lanes */
};

static void note_granted(struct engine *e, struct op *op, const struct job *j, struct granting *g)
{
    if (g->queue == NULL || g->queue->id != j->queue) {
        g->queue = queue_by_id(e, j->queue);
        g->n_queues++;
    }
    g->members = g->members || j->group != 0 || j->lane != 0;
    counts_add(&e->batch.counts, j->queue, JOB_READY, -1);
    counts_add(&e->batch.counts, j->queue, JOB_RUNNING, 1);
    if (j->group != 0)
        groups_claimed(e, j);
    e->batch.tally.claimed++;
    op->n_granted++;
    effects_event(e, j, g->queue, "claimed");
}

/* Gated ones are put back by gating_granted. */
static void put_back_ready(struct engine *e, const struct job *j)
{
    if (!gating_has_booked(e, j->id.v))
        ready_put_back(&queue_by_id(e, j->queue)->ready, (struct ready_ref){j->priority, j->id.v});
}

/* Notes the granted jobs and creates the live claim that watches their leases. */
static struct live_claim *take_granted(struct engine *e, struct op *op, const struct job *jobs,
                                       size_t n)
{
    struct granting g = {.queue = NULL};
    int64_t *ids = arena_array(&e->batch.arena, n, sizeof(int64_t));
    size_t granted = 0;

    for (size_t i = 0; i < n; i++)
        if (jobs[i].state == JOB_RUNNING) {
            ids[granted++] = jobs[i].id.v;
            note_granted(e, op, &jobs[i], &g);
        } else if (jobs[i].state == JOB_READY) { /* the reply would be too large */
            put_back_ready(e, &jobs[i]);
        } else if (jobs[i].state == JOB_NONE) {
            e->shared.saw_locked_ready = true; /* locked by another server */
        }
    if (e->batch.gates.bookings.count > 0)
        gating_granted(e, jobs, n);
    if (granted == 0)
        return NULL;
    op->picked = jobs;
    op->n_picked = n;
    struct live_claim *live = claim_new(jobs[0].token, ids, granted);

    live->queue = g.n_queues == 1 && !g.members ? g.queue->id : 0;
    return live;
}

/* A job's log has its attempts one after the other: marks where the new one begins. */
static enum err_code mark_attempts(struct engine *e, const struct job *jobs, size_t n,
                                   struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct log_mark begins = {jobs[i].log_size, LOG_MARK_ATTEMPT, jobs[i].attempt};

        if (jobs[i].state == JOB_RUNNING && jobs[i].attempt > 1 &&
            store_log_mark(e->store, jobs[i].id.v, &begins, 1, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* Members of held groups do not start; the others get their group with them. */
static enum err_code hold_members(struct engine *e, struct job *jobs, size_t n, struct err *err)
{
    bool any_held = false;
    bool any = false;

    for (size_t i = 0; i < n && !any; i++)
        any = jobs[i].group != 0;
    if (!any)
        return E_OK;
    if (groups_any_held(e, &any_held, err) != E_OK ||
        (any_held && groups_hold_claimed(e, jobs, n, err) != E_OK))
        return err->code;
    return groups_load_claimed(e, jobs, n, err);
}

static enum err_code grant(struct engine *e, struct op *op, struct job *jobs, size_t n,
                           struct err *err)
{
    struct store_claim claim = {
        .token = engine_new_id(e),
        .node = e->node,
        .worker = worker_number(e, op->exchange.worker.name),
        .now_at = e->now.wall_at,
        .lease_us = op->exchange.lease_us,
        .until_at = lease_until_at(e, op->exchange.lease_us),
        .bytes_max = GRANT_BYTES,
    };

    if (engine_write(e, err) != E_OK ||
        store_jobs_claim(e->store, &claim, jobs, n, &e->batch.arena, err) != E_OK ||
        hold_members(e, jobs, n, err) != E_OK || mark_attempts(e, jobs, n, err) != E_OK)
        return err->code;
    struct live_claim *live = take_granted(e, op, jobs, n);

    if (live == NULL)
        return E_OK;
    live->worker = claim.worker;
    live->lease_us = claim.lease_us;
    live->check_at = claim.until_at;
    VEC_PUSH(&e->batch.new_claims, live);
    if (worker_report(e, op->exchange.worker.name, err) != E_OK)
        return err->code;
    return store_claim_add(e->store, &claim, live->jobs, live->n_jobs, err);
}

static enum err_code serve_claim(struct engine *e, struct op *op, struct err *err)
{
    const struct exchange *x = &op->exchange;
    size_t n = 0;

    if (claim_is_outdated(e, x)) {
        op->answer_now = true;
        return E_OK;
    }
    if (op->generation != e->generation && !resolve_queues(e, op)) {
        op->answer_now = true; /* one of its queues was removed */
        op->err = ERR_INIT;
        return E_OK;
    }
    if (x->max == 0)
        return E_OK; /* it asks only for cancels and changed definitions */
    int64_t *ids = arena_array(&e->batch.arena, (size_t)x->max, sizeof(*ids));

    if (pick(e, op, ids, &n, err) != E_OK)
        return err->code;
    struct job *jobs = arena_array(&e->batch.arena, n, sizeof(*jobs));

    for (size_t i = 0; i < n; i++)
        jobs[i].id.v = ids[i];
    return n == 0 ? E_OK : grant(e, op, jobs, n, err);
}

/* Whether the claim can be answered: with jobs, or because queues or definitions have changed. */
static bool any_ready(struct engine *e, struct op *op, bool *ret_any, struct err *err)
{
    struct queue **queues = op->queues;

    *ret_any = op->generation != e->generation || claim_is_outdated(e, &op->exchange);
    for (size_t i = 0; op->exchange.max > 0 && i < op->exchange.n_queues && !*ret_any; i++) {
        if (op->exchange.queues[i].max == 0 || !queue_starts(queues[i]))
            continue;
        if (gating_of(e, queues[i]) != NULL) {
            *ret_any = gating_may_start(e, queues[i]);
            continue;
        }
        if (shared_fill_ready(e, queues[i], !op->exchange.commands, err) != E_OK)
            return false;
        *ret_any = ready_first(&queues[i]->ready) != NULL;
    }
    return true;
}

static enum err_code serve_waiting(struct engine *e, struct err *err)
{
    for (struct op *op = e->waiting.claims; op != NULL; op = op->next) {
        bool any;

        if (op->deadline_at <= e->now.steady_at || op->answer_now)
            continue;
        if (!any_ready(e, op, &any, err))
            return err->code;
        if (!any)
            continue;
        e->waiting.answers_due = true;
        if (op->alive != NULL && !op->alive(op)) {
            op->deadline_at = 0; /* its client has disconnected */
            continue;
        }
        if (serve_claim(e, op, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

enum err_code claims_grant(struct engine *e, struct err *err)
{
    if (e->waiting.grants_due && serve_waiting(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < e->batch.n_ops; i++) {
        struct op *op = e->batch.ops[i];

        if (op->kind != OP_EXCHANGE || !(op->exchange.parts & EXCHANGE_JOBS) ||
            op->err.code != E_OK)
            continue;
        if (worker_seen(e, op, err) != E_OK ||
            (op->err.code == E_OK && serve_claim(e, op, err) != E_OK))
            return err->code;
    }
    return E_OK;
}

/* ---- the reply ---- */

/* Shows the job as its step: with the params of the step, and attempts counted from its start. */
static struct slice show_step(struct engine *e, struct job *j)
{
    const struct route_step *step = NULL;
    struct routing routing;

    routing_parse(j->routing, &e->batch.arena, &routing);
    if (j->step > 0)
        step = route_find(&routing, j->step);
    if (step != NULL) {
        j->params = route_params(j->params, j->assigned, step->params, &e->batch.arena);
        j->attempt -= j->attempts_before;
    }
    return route_claim_members(&routing, j, &e->batch.arena);
}

static void write_one(struct engine *e, struct buf *b, const struct job *j, struct slice grant,
                      size_t *group_room)
{
    const struct lease lease = {j->id.v, j->token, job_fence(j)};
    char text[LEASE_TEXT_SIZE];
    struct claimed_texts texts = {.lease = lease_format(&e->lease_key, &lease, text),
                                  .grant = grant,
                                  .url = e->url};
    CLEANUP(buf) struct buf group = BUF_INIT(OP_REPLY_MAX);
    struct job step;

    jtext_add_comma(b);
    if (j->group != 0 || j->closes != 0) {
        groups_add_claimed(e, &group, j, group_room);
        texts.group = buf_slice(&group);
    }
    if (j->routing.size > 0) {
        step = *j;
        texts.more = show_step(e, &step);
        j = &step;
    }
    jtext_add_claimed(b, j, &texts);
}

/* Members that are the same for all jobs of a queue are formatted once. */
void claim_write(struct engine *e, struct op *op)
{
    CLEANUP(buf) struct buf common = BUF_INIT(OP_REPLY_MAX);
    size_t group_room = GROUP_BYTES;
    int64_t queue = 0;

    for (size_t i = 0; i < op->n_picked; i++) {
        const struct job *j = &op->picked[i];

        if (j->state != JOB_RUNNING)
            continue;
        if (j->queue != queue) {
            struct job granted = *j;

            queue = j->queue;
            granted.lease_until_at += e->leases.overrun_us;
            buf_clear(&common);
            jtext_add_grant(&common, &granted, slice_of(queue_by_id(e, queue)->name));
        }
        write_one(e, &op->reply, j, buf_slice(&common), &group_room);
    }
}

void claims_ungrant(struct engine *e)
{
    for (struct op *op = e->waiting.claims; op != NULL; op = op->next) {
        op->picked = NULL;
        op->n_picked = op->n_granted = 0;
        op->answer_now = false;
    }
}

/* ---- jobs that a worker does not hold ---- */

/* The attempts that the worker lists as held, sorted. */
struct held_list {
    struct attempt_ref *items;
    size_t count;
};

static int by_job_and_token(const void *a, const void *b)
{
    const struct attempt_ref *x = a;
    const struct attempt_ref *y = b;

    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

static struct held_list held_of(struct engine *e, const struct exchange *x)
{
    struct held_list held = {arena_array(&e->batch.arena, x->n_touch + 1, sizeof(*held.items)),
                             x->n_touch};

    for (size_t i = 0; i < x->n_touch; i++)
        held.items[i] = (struct attempt_ref){x->touch[i].id, x->touch[i].token};
    qsort(held.items, held.count, sizeof(*held.items), by_job_and_token);
    return held;
}

static enum err_code return_unheld(struct engine *e, const struct held_list *held,
                                   const struct live_claim *claim, struct err *err)
{
    struct attempt_end end = {.outcome = JOB_OUT_RETURNED, .now_at = e->now.wall_at};
    const struct attempt_gain none = {0};

    for (size_t i = 0; i < claim->n_jobs; i++) {
        const struct attempt_ref wanted = {claim->jobs[i], claim->token};
        bool found = false;
        struct job j;

        if (bsearch(&wanted, held->items, held->count, sizeof(wanted), by_job_and_token) != NULL)
            continue;
        if (store_job_load(e->store, claim->jobs[i], LOAD_LIVE, &e->batch.arena, &j, &found, err) !=
            E_OK)
            return err->code;
        if (found && j.state == JOB_RUNNING && j.token == claim->token &&
            attempt_end_run(e, &j, &end, &none, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* Claims read from the store: those of other servers are not in memory. */
struct claim_list {
    VEC(struct live_claim *) claims;
};

static void take_claim(void *ctx, const struct stored_claim *c)
{
    struct claim_list *list = ctx;

    VEC_PUSH(&list->claims, claim_new(c->token, c->jobs, c->n_jobs));
}

static enum err_code return_from_all(struct engine *e, const struct held_list *held, int64_t worker,
                                     struct err *err)
{
    struct claim_list list = {.claims = VEC_INIT};
    enum err_code code = store_claims_of_worker(e->store, worker, take_claim, &list, err);

    for (size_t i = 0; i < list.claims.count; i++) {
        if (code == E_OK)
            code = return_unheld(e, held, list.claims.items[i], err);
        free(list.claims.items[i]);
    }
    VEC_DEINIT(&list.claims);
    return code;
}

enum err_code claim_return_unknown(struct engine *e, struct op *op, struct err *err)
{
    int64_t worker = worker_number(e, op->exchange.worker.name);

    if (worker == 0 && must_ask_store(e)) { /* another server may know the worker */
        if (worker_seen(e, op, err) != E_OK)
            return err->code;
        worker = worker_number(e, op->exchange.worker.name);
    }
    if (worker == 0)
        return E_OK;
    struct held_list held = held_of(e, &op->exchange);

    if (must_ask_store(e))
        return return_from_all(e, &held, worker, err);
    for (size_t i = 0; i < e->claims.heap.count; i++)
        if (e->claims.heap.items[i]->worker == worker &&
            return_unheld(e, &held, e->claims.heap.items[i], err) != E_OK)
            return err->code;
    return E_OK;
}
