/*
 * Revivals: running a job again also retries the jobs that its end had cancelled.
 *
 * A job that is cancelled because a condition became impossible leaves a row of `undone` that names
 * the job responsible.  Running that job again stores a revival; this batch and the next ones then
 * retry the jobs with such rows: each waits for its conditions again, and gets a revival for the
 * jobs that it had cancelled in turn.  If another condition is impossible too, the job stays
 * cancelled, and its row names the job responsible for that one.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/followups/revive.h"

#include "engine/batch/transaction.h"
#include "engine/followups/pending_wakeups.h"
#include "engine/jobs/job_action.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"
#include "store/links/links.h"

/* Limits of revive_count: jobs counted, and jobs whose own cancelled jobs are looked up. */
enum { REVIVED_COUNTED = 1000, REVIVED_LOOKS = 100 };

enum err_code revive_begin(struct engine *e, int64_t target, struct err *err)
{
    int64_t first = 0;
    size_t n = 0;

    if (store_undone_by(e->store, target, 0, 1, &first, &n, err) != E_OK)
        return err->code;
    if (n == 0)
        return E_OK;
    e->followups.has_revivals = e->batch.followups.revivals_new = true;
    return store_revival_put(e->store, &(struct stored_revival){.target = target}, err);
}

enum err_code revive_count(struct engine *e, int64_t target, struct revived *ret_revived,
                           struct err *err)
{
    int64_t ids[REVIVED_COUNTED];
    struct revived r = {.jobs = 0};
    size_t n = 0;

    if (store_undone_by(e->store, target, 0, REVIVED_COUNTED, ids, &n, err) != E_OK)
        return err->code;
    r.jobs = n;
    for (size_t i = 0; i < r.jobs && i < REVIVED_LOOKS && r.jobs < REVIVED_COUNTED; i++) {
        if (store_undone_by(e->store, ids[i], 0, REVIVED_COUNTED - r.jobs, ids + r.jobs, &n, err) !=
            E_OK)
            return err->code;
        r.jobs += n;
    }
    r.more = r.jobs > REVIVED_LOOKS;
    *ret_revived = r;
    return E_OK;
}

/* *ret_busy: the followups of its own end are not done yet; it must be tried again. */
static enum err_code revive_one(struct engine *e, int64_t waiter, bool *ret_busy, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT; /* jobs may be large: one at a time */
    struct job_action action = {.kind = ACTION_RETRY, .id = waiter, .may_command = true};
    struct job_action_result result;
    bool found = false;
    struct job j;

    if (lock_job(e, waiter, err) != E_OK || end_is_pending(e, waiter, ret_busy, err) != E_OK ||
        store_job_load(e->store, waiter, LOAD_PAYLOAD, &arena, &j, &found, err) != E_OK)
        return err->code;
    if (*ret_busy)
        return E_OK;
    if (!found || j.state != JOB_CANCELLED || j.cause != JOB_CAUSE_DEPENDENCY)
        return store_undone_remove(e->store, waiter, err);
    return job_action_apply(e, &action, &j, &result, err); /* if refused, it stays cancelled */
}

static enum err_code revive_some(struct engine *e, struct stored_revival *r, size_t *room,
                                 bool *ret_left, struct err *err)
{
    size_t limit = *room;
    int64_t *waiters = arena_array(&e->batch.arena, limit, sizeof(*waiters));
    size_t n = 0;
    bool busy = false;

    if (store_undone_by(e->store, r->target, r->cursor, limit, waiters, &n, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n && !busy; i++) {
        if (!job_is_skipped(e, waiters[i]) && revive_one(e, waiters[i], &busy, err) != E_OK)
            return skip_damaged_job(e, waiters[i], err);
        r->cursor = busy ? r->cursor : waiters[i];
        (*room)--;
    }
    *ret_left = busy || n == limit;
    return E_OK;
}

enum err_code revive_work(struct engine *e, size_t *room, bool *ret_over, struct err *err)
{
    struct stored_revival r = {.target = 0};
    bool left = false;

    if (store_revival_next(e->store, &r, err) != E_OK)
        return err->code;
    *ret_over = r.target == 0;
    if (*ret_over) {
        e->followups.has_revivals = false;
        return E_OK;
    }
    if (engine_write(e, err) != E_OK || revive_some(e, &r, room, &left, err) != E_OK)
        return err->code;
    *room -= *room > 0; /* the revival itself */
    *ret_over = left;
    return left ? store_revival_put(e->store, &r, err)
                : store_revival_remove(e->store, r.target, err);
}
