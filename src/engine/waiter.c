/*
 * Jobs that wait: let go when all holds that they wait for, cancelled when something of it never will.
 *
 * Conditions on jobs stand before those on signals: the first that is left tells which kind is.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "engine/after.h"
#include "engine/engine_internal.h"
#include "store/store_jobs.h"

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
    if (e->new_waits.count == 0)
        return E_OK;
    if (store_waits_add(e->store, e->new_waits.items, e->new_waits.count, &e->arena, err) != E_OK)
        return err->code;
    VEC_CLEAR(&e->new_waits);
    return E_OK;
}

/* Another server may have cancelled or removed it. */
static enum err_code load(struct engine *e, int64_t waiter, struct job *ret_job, bool *ret_waits,
                          struct err *err)
{
    bool found = false;

    if (store_job_brief(e->store, waiter, &e->arena, ret_job, &found, err) != E_OK)
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
    if (engine_write(e, err) != E_OK || store_job_update(e->store, was, &now, &hit, err) != E_OK)
        return err->code;
    ASSERT(hit);
    note_move(e, &now, was->state, queue_by_id(e, was->queue), "released");
    return E_OK;
}

/* ---- signals ---- */

static enum err_code levels_hold(struct engine *e, const struct wait_page *waits, bool *ret_hold,
                                 struct err *err)
{
    *ret_hold = true;
    for (size_t i = 0; i < waits->count && *ret_hold; i++) {
        struct stored_signal signal;

        if (store_signal_load(e->store, waits->items[i].target, &e->arena, &signal, err) != E_OK)
            return err->code;
        *ret_hold = signal.id != 0 && signal.count >= waits->items[i].count;
    }
    return E_OK;
}

static enum err_code use_up(struct engine *e, const struct wait_page *waits, struct err *err)
{
    for (size_t i = 0; i < waits->count; i++) {
        struct stored_signal signal;

        if (!waits->items[i].take)
            continue;
        if (store_signal_load(e->store, waits->items[i].target, &e->arena, &signal, err) != E_OK)
            return err->code;
        signal.count -= waits->items[i].count;
        signal.changed_at = e->now.wall_at;
        if (store_signal_put(e->store, &signal, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* ---- one waiter ---- */

enum err_code waiter_look(struct engine *e, int64_t waiter, struct err *err)
{
    CLEANUP(wait_page) struct wait_page left = VEC_INIT;
    bool holds = true;
    bool waits = false;
    struct job job;

    if (store_waits_of(e->store, waiter, 1, wait_page_take, &left, err) != E_OK)
        return err->code;
    if (left.count > 0 && left.items[0].kind == AFTER_JOB)
        return E_OK;
    if (left.count > 0) {
        left.count = 0;
        if (store_waits_of(e->store, waiter, AFTER_MAX, wait_page_take, &left, err) != E_OK ||
            levels_hold(e, &left, &holds, err) != E_OK)
            return err->code;
    }
    if (!holds)
        return E_OK;
    if (load(e, waiter, &job, &waits, err) != E_OK)
        return err->code;
    if (!waits)
        return E_OK;
    if (left.count > 0 && (engine_write(e, err) != E_OK || use_up(e, &left, err) != E_OK ||
                           store_waits_forget(e->store, waiter, err) != E_OK))
        return err->code;
    return let_go(e, &job, err);
}

static enum err_code cancel(struct engine *e, int64_t waiter, const char *why, struct err *err)
{
    bool waits = false;
    struct job job;

    if (load(e, waiter, &job, &waits, err) != E_OK)
        return err->code;
    if (!waits)
        return store_waits_forget(e->store, waiter, err);
    return job_end_unrun(e, &job, JOB_EV_CANCEL, JOB_CAUSE_DEPENDENCY, slice_of(why), err);
}

/* The job is held before its waits are touched, as by those who cancel it. */
enum err_code waiter_tell(struct engine *e, const struct stored_wait *wait,
                          enum after_verdict verdict, const char *why, struct err *err)
{
    if (verdict == AFTER_OPEN)
        return E_OK;
    if (engine_write(e, err) != E_OK || shared_hold_job(e, wait->waiter, err) != E_OK)
        return err->code;
    if (verdict == AFTER_NEVER)
        return cancel(e, wait->waiter, why, err);
    if (store_wait_remove(e->store, wait->waiter, wait->seq, err) != E_OK)
        return err->code;
    return waiter_look(e, wait->waiter, err);
}

enum err_code after_forget(struct engine *e, const struct job *j, struct err *err)
{
    if (!(j->holds & JOB_HOLD_AFTER))
        return E_OK;
    return waits_flush(e, err) != E_OK ? err->code : store_waits_forget(e->store, j->id.v, err);
}
