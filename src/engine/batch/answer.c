/* SPDX-License-Identifier: MIT */
#include "engine/batch/answer.h"

#include <stdlib.h>

#include "base/clock.h"
#include "engine/claims/exchange.h"
#include "engine/queues/instance.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"

void waiting_init(struct waiting *w)
{
    *w = (struct waiting){.wake_at = TIME_NEVER};
    w->claims_end = &w->claims;
}

void answer(struct op *op)
{
    op->next = NULL;
    op->done(op);
}

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Whether the job or bulk action has ended in this batch; `batch.ended` is sorted. */
static bool ends_now(const struct engine *e, int64_t id)
{
    return e->batch.ended.count > 0 && bsearch(&id, e->batch.ended.items, e->batch.ended.count,
                                               sizeof(int64_t), by_number) != NULL;
}

static void wake_waits(struct engine *e)
{
    struct op **at = &e->waiting.end_watchers;

    if (e->batch.ended.count > 1)
        qsort(e->batch.ended.items, e->batch.ended.count, sizeof(int64_t), by_number);
    while (*at != NULL) {
        struct op *op = *at;
        bool ended = op->deadline_at <= e->now.steady_at || ends_now(e, op->wait.id);

        if (!ended) {
            if (op->deadline_at < e->waiting.wake_at)
                e->waiting.wake_at = op->deadline_at;
            at = &op->next;
            continue;
        }
        *at = op->next;
        atomic_fetch_sub(&e->stats.waiting, 1);
        answer(op);
    }
}

static void finish_claim(struct engine *e, struct op *op)
{
    cancels_report(e, op);
    if (op->alive == NULL || op->alive(op))
        instance_heard(e, &op->exchange);
    exchange_close(e, op);
    answer(op);
}

/* Waiting claims that were granted jobs, whose time is up, or whose worker must cancel a job. */
static void answer_waiting(struct engine *e)
{
    struct op **at = &e->waiting.claims;

    e->waiting.wake_at = TIME_NEVER;
    while (*at != NULL) {
        struct op *op = *at;

        if (op->n_granted == 0 && !op->answer_now && op->deadline_at > e->now.steady_at &&
            !cancels_report(e, op)) {
            if (op->deadline_at < e->waiting.wake_at)
                e->waiting.wake_at = op->deadline_at;
            at = &op->next;
            continue;
        }
        *at = op->next;
        atomic_fetch_sub(&e->stats.waiting, 1);
        finish_claim(e, op);
    }
    e->waiting.claims_end = at;
}

/* Workers that wait for jobs to judge. */
static void answer_askers(struct engine *e)
{
    struct op **at = &e->desk.askers;

    while (*at != NULL) {
        struct op *op = *at;

        if (op->n_granted == 0 && op->deadline_at > e->now.steady_at) {
            if (op->deadline_at < e->waiting.wake_at)
                e->waiting.wake_at = op->deadline_at;
            at = &op->next;
            continue;
        }
        *at = op->next;
        atomic_fetch_sub(&e->stats.waiting, 1);
        desk_close(op);
        answer(op);
    }
}

static void give_up_gone(struct op *list)
{
    for (struct op *op = list; op != NULL; op = op->next)
        if (op->alive != NULL && !op->alive(op))
            op->deadline_at = 0;
}

void engine_look_for_gone(struct engine *e)
{
    e->waiting.answers_due = true;
    give_up_gone(e->waiting.claims);
    give_up_gone(e->desk.askers);
    give_up_gone(e->waiting.end_watchers);
}

static bool may_wait(struct engine *e, struct op *op, int64_t wait_us)
{
    if (wait_us == 0)
        return false;
    uint32_t max = e->config.waiting_max + (op->may_use_reserve ? e->config.waiting_reserve : 0);

    if (atomic_load(&e->stats.waiting) >= max) {
        /* What an exchange has finished or touched is committed: its reply says so. */
        if (op->kind != OP_EXCHANGE || op->exchange.n_finish + op->exchange.n_touch == 0)
            err_set(&op->err, E_TOO_MANY, "%u requests are waiting already: try again later",
                    (unsigned)max);
        return false;
    }
    op->deadline_at = e->now.steady_at + wait_us;
    if (op->deadline_at < e->waiting.wake_at)
        e->waiting.wake_at = op->deadline_at;
    atomic_fetch_add(&e->stats.waiting, 1);
    op->next = NULL;
    return true;
}

/* Answers the worker's earlier claims: what it has just reported may change what it asks for. */
static void wake_same_worker(struct engine *e, struct slice worker)
{
    struct op **at = &e->waiting.claims;

    while (*at != NULL) {
        struct op *op = *at;

        if (!slice_equal(op->exchange.worker.name, worker)) {
            at = &op->next;
            continue;
        }
        *at = op->next;
        atomic_fetch_sub(&e->stats.waiting, 1);
        finish_claim(e, op);
    }
    e->waiting.claims_end = at;
}

static void answer_claim(struct engine *e, struct op *op)
{
    if (op->exchange.wake)
        wake_same_worker(e, op->exchange.worker.name);
    bool at_once = op->n_granted > 0 || op->answer_now || cancels_report(e, op);

    if (!at_once && may_wait(e, op, op->exchange.wait_us)) {
        *e->waiting.claims_end = op;
        e->waiting.claims_end = &op->next;
        return;
    }
    finish_claim(e, op);
}

/* Whether a job or a bulk action has ended, or does not exist. */
static bool has_ended(struct engine *e, struct op *op)
{
    struct job j;
    bool found = false;

    for (size_t i = 0; i < e->bulk.count; i++)
        if (e->bulk.items[i]->row.id == op->wait.id)
            return false;
    return store_job_load(e->store, op->wait.id, LOAD_LIVE, &e->batch.arena, &j, &found,
                          &op->err) != E_OK ||
           !found;
}

enum err_code wait_run(struct engine *e, struct op *op, struct err *err)
{
    return op->wait.wait_us > 0 ? shared_watch(e, op->wait.id, &op->over, err) : E_OK;
}

/* On a shared store the job was looked at in the batch, perhaps before it ended. */
static void answer_wait(struct engine *e, struct op *op)
{
    bool over = must_ask_store(e) ? op->over || ends_now(e, op->wait.id) : has_ended(e, op);

    if (!over && may_wait(e, op, op->wait.wait_us)) {
        op->next = e->waiting.end_watchers;
        e->waiting.end_watchers = op;
        return;
    }
    answer(op);
}

static void answer_filter(struct engine *e, struct op *op)
{
    struct op **at = &e->desk.askers;

    if (!desk_has_answer(op) && may_wait(e, op, op->filter.wait_us)) {
        while (*at != NULL)
            at = &(*at)->next;
        *at = op;
        return;
    }
    desk_close(op);
    answer(op);
}

void answer_all(struct engine *e, struct op **ops, size_t n)
{
    for (const struct op *op = e->desk.askers; op != NULL; op = op->next)
        e->waiting.answers_due = e->waiting.answers_due || op->n_granted > 0;
    if (e->waiting.answers_due || e->batch.ended.count > 0 || e->batch.new_cancels.count > 0 ||
        e->waiting.wake_at <= e->now.steady_at) {
        e->waiting.answers_due = false;
        answer_waiting(e);
        answer_askers(e);
        wake_waits(e);
    }
    for (size_t i = 0; i < n; i++) {
        struct op *op = ops[i];
        bool is_exchange = op->kind == OP_EXCHANGE && op->err.code == E_OK;

        if (is_exchange && op->exchange.parts & EXCHANGE_JOBS)
            answer_claim(e, op);
        else if (op->kind == OP_WAIT)
            answer_wait(e, op);
        else if (op->kind == OP_FILTER)
            answer_filter(e, op);
        else {
            if (is_exchange)
                exchange_close(e, op);
            answer(op);
        }
    }
}
