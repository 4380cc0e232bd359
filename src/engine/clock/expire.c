/*
 * Expiry: jobs that must have started by an instant are cancelled after it.
 *
 * A job has started when an attempt of it counts: one that was handed back unbegun does not.  So
 * the row of a job that runs for the first time is kept and looked at again later.  A staged job
 * belongs to the attempt that made it: it is cancelled when it is released.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/clock/expire.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/clock/expires.h"
#include "core/submit/item.h"
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/jobs/job_end.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"
#include "store/links/links.h"

enum { EXPIRE_ROWS = 500 };

#define AGAIN_US (10 * US_PER_MIN) /* when to look again at a job that runs, or is staged */

/* ---- new jobs ---- */

void expire_judge(struct engine *e, const struct submit_item *item, struct err *refused)
{
    int64_t at = expires_at(&item->expires, e->now.wall_at);
    int64_t due_at = item->delay_us > 0 ? e->now.wall_at + item->delay_us : item->due_at;
    char text[TIME_TEXT_SIZE];

    if (at == 0)
        return;
    if (at <= e->now.wall_at)
        err_set(refused, E_INVALID, "expires: %s has passed", time_format(at, text));
    else if (at <= due_at)
        err_set(refused, E_INVALID, "expires: it would expire before it may start");
}

void expire_note(struct engine *e, const struct submit_item *item, const struct queue *q,
                 int64_t job)
{
    int64_t at = expires_at(&item->expires, e->now.wall_at);

    if (at == 0)
        at = expires_at(&q->def.expires, e->now.wall_at);
    if (at == 0)
        return;
    VEC_PUSH(&e->batch.expiries, ((struct stored_expiry){job, at}));
    if (at < e->clock.expire_at)
        e->clock.expire_at = at;
}

enum err_code expire_flush(struct engine *e, struct err *err)
{
    if (e->batch.expiries.count == 0)
        return E_OK;
    if (store_expiries_add(e->store, e->batch.expiries.items, e->batch.expiries.count,
                           &e->batch.arena, err) != E_OK)
        return err->code;
    e->batch.expiries.count = 0;
    return E_OK;
}

/* ---- expired jobs ---- */

static enum err_code cancel(struct engine *e, const struct job *j, struct err *err)
{
    e->batch.tally.expired++;
    return job_end_unrun(e, j, JOB_EV_CANCEL, JOB_CAUSE_EXPIRED, SLICE("it did not start in time"),
                         err);
}

/* Judges a job that is locked; *ret_again: its row is kept for another look. */
static enum err_code judge(struct engine *e, int64_t id, bool *ret_again, struct err *err)
{
    bool found = false;
    struct job j;

    *ret_again = false;
    if (store_job_load(e->store, id, LOAD_LIVE, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found)
        return E_OK;
    *ret_again = j.state == JOB_STAGED || (j.state == JOB_RUNNING && j.attempt == 1);
    return !*ret_again && job_state_waits(j.state) && j.attempt == 0 ? cancel(e, &j, err) : E_OK;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Judges jobs, whose ids are sorted; *ret_left: some could not be judged now. */
static enum err_code judge_all(struct engine *e, const int64_t *ids, size_t n, bool *ret_left,
                               struct err *err)
{
    bool *busy = arena_array(&e->batch.arena, n, sizeof(*busy));
    int64_t *done = arena_array(&e->batch.arena, n, sizeof(*done));
    int64_t *kept = arena_array(&e->batch.arena, n, sizeof(*kept));
    size_t n_done = 0;
    size_t n_kept = 0;

    *ret_left = false;
    if (must_ask_store(e) &&
        store_waiters_hold(e->store, ids, n, busy, &e->batch.arena, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++) {
        bool again = false;

        if (busy[i] || job_is_skipped(e, ids[i])) {
            *ret_left = true;
            continue;
        }
        if (judge(e, ids[i], &again, err) != E_OK)
            return skip_damaged_job(e, ids[i], err);
        if (again)
            kept[n_kept++] = ids[i];
        else
            done[n_done++] = ids[i];
    }
    if (store_expiries_remove(e->store, done, n_done, &e->batch.arena, err) != E_OK)
        return err->code;
    return store_expiries_put_off(e->store, kept, n_kept, e->now.wall_at + AGAIN_US,
                                  &e->batch.arena, err);
}

enum err_code expire_run(struct engine *e, struct err *err)
{
    int64_t ids[EXPIRE_ROWS];
    bool left = false;
    size_t n = 0;

    if (e->clock.expire_at > e->now.wall_at)
        return E_OK;
    if (store_expiries_due(e->store, e->now.wall_at, ids, EXPIRE_ROWS, &n, err) != E_OK)
        return err->code;
    if (n > 0) {
        qsort(ids, n, sizeof(ids[0]), by_number);
        if (engine_write(e, err) != E_OK || judge_all(e, ids, n, &left, err) != E_OK)
            return err->code;
    }
    if (store_expiries_next(e->store, &e->clock.expire_at, err) != E_OK)
        return err->code;
    if ((left || must_ask_store(e)) && n < EXPIRE_ROWS &&
        e->clock.expire_at < e->now.wall_at + LOCKED_PAUSE_US)
        e->clock.expire_at = e->now.wall_at + LOCKED_PAUSE_US; /* locked by another server */
    return E_OK;
}

/* What has started before does not expire. */
enum err_code expire_find(struct engine *e, const int64_t *ids, size_t n, bool *ret_expired,
                          struct err *err)
{
    if (n == 0)
        return E_OK;
    if (store_expiries_passed(e->store, ids, n, e->now.wall_at, ret_expired, &e->batch.arena,
                              err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        struct job j;

        if (!ret_expired[i])
            continue;
        if (store_job_load(e->store, ids[i], LOAD_LIVE, &e->batch.arena, &j, &found, err) != E_OK)
            return err->code;
        ret_expired[i] = found && j.state == JOB_READY && j.attempt == 0;
    }
    return E_OK;
}

enum err_code expire_hide(struct engine *e, struct queue *q, int64_t id, struct err *err)
{
    bool found = false;
    struct job j;

    if (store_job_load(e->store, id, LOAD_LIVE, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (found)
        effects_unready(e, q, &j);
    return E_OK;
}

static enum err_code expire_cancel(struct engine *e, int64_t id, struct err *err)
{
    bool again;

    return engine_write(e, err) != E_OK ? err->code : judge(e, id, &again, err);
}

enum err_code expire_released(struct engine *e, const int64_t *ids, size_t n, struct err *err)
{
    bool *passed;

    if (n == 0 || e->clock.expire_at == TIME_NEVER)
        return E_OK;
    passed = arena_array(&e->batch.arena, n, sizeof(*passed));
    if (store_expiries_passed(e->store, ids, n, e->now.wall_at, passed, &e->batch.arena, err) !=
        E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (passed[i] && expire_cancel(e, ids[i], err) != E_OK)
            return err->code;
    return E_OK;
}
