/*
 * Waiting jobs: released when all conditions are met, cancelled when one is impossible.
 *
 * A job's conditions on jobs and groups are stored before those on signals: if the first one left
 * is on a signal, all are.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/followups/waiter.h"

#include <stdlib.h>

#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/jobs/job_end.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"
#include "store/links/links.h"

enum { NO_CONDITION = -1 };

enum { LEVELS_SET = 200 }; /* signals per statement */

void wait_page_take(void *page, const struct stored_wait *wait)
{
    struct wait_page *p = page;

    VEC_PUSH(p, *wait);
}

void wait_page_cleanup(struct wait_page *page)
{
    VEC_DEINIT(page);
}

enum err_code waits_flush(struct engine *e, struct err *err)
{
    if (e->batch.followups.new_waits.count == 0)
        return E_OK;
    if (store_waits_add(e->store, e->batch.followups.new_waits.items,
                        e->batch.followups.new_waits.count, &e->batch.arena, err) != E_OK)
        return err->code;
    VEC_CLEAR(&e->batch.followups.new_waits);
    return E_OK;
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* A page may hold several waits of one job. */
enum err_code waiters_lock(struct engine *e, const struct wait_page *page, const bool **ret_busy,
                           struct err *err)
{
    int64_t *ids = arena_array(&e->batch.arena, page->count + 1, sizeof(*ids));
    bool *held = arena_array(&e->batch.arena, page->count + 1, sizeof(*held));
    bool *busy = arena_array(&e->batch.arena, page->count + 1, sizeof(*busy));
    size_t n = 0;

    *ret_busy = busy;
    if (!must_ask_store(e) || page->count == 0)
        return E_OK;
    for (size_t i = 0; i < page->count; i++)
        ids[i] = page->items[i].waiter;
    qsort(ids, page->count, sizeof(*ids), by_id);
    for (size_t i = 0; i < page->count; i++)
        if (n == 0 || ids[n - 1] != ids[i])
            ids[n++] = ids[i];
    if (store_waiters_hold(e->store, ids, n, held, &e->batch.arena, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < page->count; i++) {
        const int64_t *place = bsearch(&page->items[i].waiter, ids, n, sizeof(*ids), by_id);

        busy[i] = held[place - ids];
    }
    return E_OK;
}

/* *ret_waits false: another server has cancelled or removed the job. */
static enum err_code load(struct engine *e, int64_t waiter, struct job *ret_job, bool *ret_waits,
                          struct err *err)
{
    bool found = false;

    if (store_job_load(e->store, waiter, LOAD_LIVE, &e->batch.arena, ret_job, &found, err) != E_OK)
        return err->code;
    *ret_waits = found && ret_job->state == JOB_HELD && ret_job->holds & JOB_HOLD_AFTER;
    return E_OK;
}

static enum err_code let_go(struct engine *e, const struct job *was, struct err *err)
{
    struct job now = *was;
    bool hit = false;

    now.holds &= ~(unsigned)JOB_HOLD_AFTER;
    job_settle(e, &now);
    if (now.state == JOB_NONE)
        return store_job_damaged(e->store, was->id.v, "it has conditions but is not held", err);
    if (engine_write(e, err) != E_OK || store_job_update(e->store, was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, was->id.v, "it is not as it was read", err);
    effects_move(e, &now, was->state, queue_by_id(e, was->queue), "released");
    return E_OK;
}

/* ---- signals ---- */

static int by_target(const void *a, const void *b)
{
    int64_t x = ((const struct stored_wait *)a)->target;
    int64_t y = ((const struct stored_wait *)b)->target;

    return (x > y) - (x < y);
}

/* Judges at least one and at most LEVELS_SET waits, sorted by signal. */
static enum err_code levels_hold_set(struct engine *e, const struct stored_wait *waits, size_t n,
                                     bool *ret_hold, bool *ret_busy, struct err *err)
{
    int64_t ids[LEVELS_SET];
    int64_t levels[LEVELS_SET];
    size_t n_ids = 1;

    ids[0] = waits[0].target;
    for (size_t i = 1; i < n; i++)
        if (ids[n_ids - 1] != waits[i].target)
            ids[n_ids++] = waits[i].target;
    if (store_signals_hold(e->store, ids, n_ids, levels, &e->batch.arena, err) != E_OK)
        return err->code;
    n_ids = 0;
    for (size_t i = 0; i < n; i++) {
        n_ids += ids[n_ids] != waits[i].target;
        *ret_busy = *ret_busy || levels[n_ids] < 0;
        *ret_hold = *ret_hold && levels[n_ids] >= waits[i].count;
    }
    return E_OK;
}

/* Locks the signals and checks whether each has its level.  Stops after the first set with one that
 * has not: raising that signal checks the job again.  All servers lock signals in the same
 * order. */
static enum err_code levels_hold(struct engine *e, struct wait_page *waits, bool *ret_hold,
                                 bool *ret_busy, struct err *err)
{
    qsort(waits->items, waits->count, sizeof(waits->items[0]), by_target);
    if (engine_write(e, err) != E_OK)
        return err->code;
    for (size_t done = 0; done < waits->count && *ret_hold; done += LEVELS_SET) {
        size_t n = waits->count - done < LEVELS_SET ? waits->count - done : LEVELS_SET;

        if (levels_hold_set(e, waits->items + done, n, ret_hold, ret_busy, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

static enum err_code use_up(struct engine *e, const struct wait_page *waits, struct err *err)
{
    for (size_t i = 0; i < waits->count; i++) {
        struct stored_signal signal;

        if (!waits->items[i].take)
            continue;
        if (store_signal_load(e->store, waits->items[i].target, &e->batch.arena, &signal, err) !=
            E_OK)
            return err->code;
        signal.count -= waits->items[i].count;
        signal.changed_at = e->now.wall_at;
        if (store_signal_put(e->store, &signal, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* ---- one waiter ---- */

static void drop(struct wait_page *page, int64_t seq)
{
    size_t kept = 0;

    for (size_t i = 0; i < page->count; i++)
        if (page->items[i].seq != seq)
            page->items[kept++] = page->items[i];
    page->count = kept;
}

/* Loads the conditions left besides `but`: all of them if they are on signals; otherwise the first
 * one or two are enough. */
static enum err_code load_left(struct engine *e, int64_t waiter, int64_t but,
                               struct wait_page *left, struct err *err)
{
    if (store_waits_of(e->store, waiter, 2, wait_page_take, left, err) != E_OK)
        return err->code;
    drop(left, but);
    if (left->count == 0 || left->items[0].kind != AFTER_SIGNAL)
        return E_OK;
    left->count = 0;
    if (store_waits_of(e->store, waiter, AFTER_MAX, wait_page_take, left, err) != E_OK)
        return err->code;
    drop(left, but);
    return E_OK;
}

/* All conditions are met: uses up its signals and releases the job. */
static enum err_code go_on(struct engine *e, int64_t waiter, const struct wait_page *signals,
                           struct err *err)
{
    bool waits = false;
    struct job job;

    if (load(e, waiter, &job, &waits, err) != E_OK)
        return err->code;
    if (!waits)
        return E_OK;
    if (signals->count > 0 &&
        (use_up(e, signals, err) != E_OK || store_waits_forget(e->store, waiter, err) != E_OK))
        return err->code;
    return let_go(e, &job, err);
}

/* Releases the job if no condition besides `met` is left; removes `met` unless it is
 * NO_CONDITION. */
static enum err_code look(struct engine *e, int64_t waiter, int64_t met, bool *ret_busy,
                          struct err *err)
{
    CLEANUP(wait_page) struct wait_page left = VEC_INIT;
    bool holds = true;

    *ret_busy = false;
    if (load_left(e, waiter, met, &left, err) != E_OK)
        return err->code;
    if (left.count > 0 && left.items[0].kind != AFTER_SIGNAL)
        holds = false;
    else if (left.count > 0 && levels_hold(e, &left, &holds, ret_busy, err) != E_OK)
        return err->code;
    if (*ret_busy)
        return E_OK;
    if (met != NO_CONDITION && store_wait_remove(e->store, waiter, met, err) != E_OK)
        return err->code;
    return holds ? go_on(e, waiter, &left, err) : E_OK;
}

enum err_code waiter_check(struct engine *e, int64_t waiter, bool *ret_busy, struct err *err)
{
    return look(e, waiter, NO_CONDITION, ret_busy, err);
}

enum err_code after_cancel(struct engine *e, const struct job *j, int64_t by, struct slice why,
                           struct err *err)
{
    if (job_end_unrun(e, j, JOB_EV_CANCEL, JOB_CAUSE_DEPENDENCY, why, err) != E_OK)
        return err->code;
    return by == 0 ? E_OK : store_undone_put(e->store, j->id.v, by, err);
}

static enum err_code cancel(struct engine *e, int64_t waiter, int64_t by, const char *why,
                            struct err *err)
{
    bool waits = false;
    struct job job;

    if (load(e, waiter, &job, &waits, err) != E_OK)
        return err->code;
    if (!waits)
        return store_waits_forget(e->store, waiter, err);
    return after_cancel(e, &job, by, slice_of(why), err);
}

/* The caller has locked the job: locks on jobs come before changes of waits, as in a cancel. */
enum err_code waiter_judge(struct engine *e, const struct stored_wait *wait,
                           enum after_verdict verdict, const char *why, bool *ret_busy,
                           struct err *err)
{
    *ret_busy = false;
    if (verdict == AFTER_OPEN)
        return E_OK;
    if (engine_write(e, err) != E_OK)
        return err->code;
    return verdict == AFTER_NEVER
               ? cancel(e, wait->waiter, wait->kind == AFTER_GROUP ? 0 : wait->target, why, err)
               : look(e, wait->waiter, wait->seq, ret_busy, err);
}

enum err_code after_forget(struct engine *e, const struct job *j, struct err *err)
{
    if (!(j->holds & JOB_HOLD_AFTER))
        return E_OK;
    return waits_flush(e, err) != E_OK ? err->code : store_waits_forget(e->store, j->id.v, err);
}
