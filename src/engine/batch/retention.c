/* SPDX-License-Identifier: MIT */
#include "engine/batch/retention.h"

#include <stdlib.h>

#include "base/clock.h"
#include "engine/batch/counts.h"
#include "engine/batch/transaction.h"
#include "engine/followups/follow.h"
#include "engine/state.h"
#include "store/groups/groups.h"
#include "store/jobs/endings.h"
#include "store/jobs/jobs.h"
#include "store/links/fanout.h"
#include "store/work.h"

enum { RETAIN_ROWS = 500, ENDING_JOBS = 500 };

#define WORK_KEPT_US US_PER_DAY    /* how long finished bulk actions are shown */
#define RETAIN_PAUSE_US US_PER_MIN /* shortest time between two looks for the same queue */
#define RETAIN_LOOK_US US_PER_HOUR /* shared stores: a server that ended jobs may be gone */
#define SPARED_US US_PER_HOUR      /* members of open groups are looked at again after this */
#define RETAIN_SOON_US US_PER_S /* jobs kept for less are removed by the second, not by the batch */

static int64_t keep_us(const struct queue *q, enum job_state state)
{
    return state == JOB_FAILED ? q->def.keep_failed_us : q->def.keep_done_us;
}

void retention_note(struct engine *e, const struct queue *q, const struct job *j)
{
    int64_t kept_us = keep_us(q, j->state);
    int64_t at = j->finished_at + (kept_us > RETAIN_SOON_US ? kept_us : RETAIN_SOON_US);

    if (at < e->sweep.retain_at)
        e->sweep.retain_at = at;
}

static int by_queue_and_state(const void *a, const void *b)
{
    const struct ended_job *x = a;
    const struct ended_job *y = b;

    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Number of endings from `first` on that share queue and state and fit one row. */
static size_t run_length(const struct engine *e, size_t first)
{
    const struct ended_job *f = &e->batch.endings.items[first];
    size_t n = 1;

    while (n < ENDING_JOBS && first + n < e->batch.endings.count &&
           e->batch.endings.items[first + n].queue == f->queue &&
           e->batch.endings.items[first + n].state == f->state)
        n++;
    return n;
}

enum err_code endings_write(struct engine *e, struct err *err)
{
    size_t n;

    if (e->batch.endings.count > 1)
        qsort(e->batch.endings.items, e->batch.endings.count, sizeof(e->batch.endings.items[0]),
              by_queue_and_state);
    for (size_t first = 0; first < e->batch.endings.count; first += n) {
        int64_t jobs[ENDING_JOBS];
        const struct ended_job *f = &e->batch.endings.items[first];

        n = run_length(e, first);
        for (size_t i = 0; i < n; i++)
            jobs[i] = f[i].id;
        struct ending row = {.id = engine_new_id(e),
                             .queue = f->queue,
                             .state = f->state,
                             .finished_at = e->now.wall_at,
                             .jobs = jobs,
                             .n_jobs = n};

        if (store_ending_add(e->store, &row, err) != E_OK)
            return err->code;
    }
    VEC_CLEAR(&e->batch.endings);
    return E_OK;
}

/* Whether the job is a member of a group whose finaliser has not ended. */
static enum err_code is_member(struct engine *e, const struct job *j, bool *ret_is, struct err *err)
{
    struct stored_group group;

    *ret_is = false;
    if (j->group == 0)
        return E_OK;
    if (store_group_bare(e->store, j->group, &e->batch.arena, &group, err) != E_OK)
        return err->code;
    *ret_is = group.id != 0 && !group_has_ended(group.state);
    return E_OK;
}

/* Removes a job if it is still the one that ended then.  Members of groups that have not ended are
 * added to `spared`. */
static enum err_code remove_old(struct engine *e, const struct ending *ending, int64_t id,
                                struct ending *spared, struct err *err)
{
    bool member = false;
    bool found = false;
    struct job j;

    if (lock_job(e, id, err) != E_OK ||
        store_job_load(e->store, id, LOAD_STATE, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || j.queue != ending->queue || j.state != ending->state ||
        j.finished_at > ending->finished_at)
        return E_OK;
    if (is_member(e, &j, &member, err) != E_OK)
        return err->code;
    if (member) {
        ((int64_t *)(uintptr_t)spared->jobs)[spared->n_jobs++] = id;
        return E_OK;
    }
    if (store_job_remove(e->store, &j, err) != E_OK)
        return err->code;
    counts_add(&e->batch.counts, j.queue, j.state, -1);
    e->batch.tally.retained++;
    e->batch.removed_some = true;
    return E_OK;
}

/* *ret_left: jobs that follow one of its jobs are still to be created. */
static enum err_code is_followed(struct engine *e, const struct ending *ending, bool *ret_left,
                                 struct err *err)
{
    bool any = e->followups.has_fanouts;

    *ret_left = false;
    if (must_ask_store(e) && store_fanout_any(e->store, &any, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < ending->n_jobs && any && !*ret_left; i++)
        if (follow_is_left(e, ending->jobs[i], ret_left, err) != E_OK)
            return err->code;
    return E_OK;
}

/* `kept_us`: how long its jobs are kept. */
static enum err_code remove_ending(struct engine *e, const struct ending *ending, int64_t kept_us,
                                   struct err *err)
{
    struct ending spared = {.id = engine_new_id(e),
                            .queue = ending->queue,
                            .state = ending->state,
                            .finished_at = e->now.wall_at + SPARED_US - kept_us,
                            .jobs = arena_array(&e->batch.arena, ending->n_jobs + 1,
                                                sizeof(int64_t))};

    if (engine_write(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < ending->n_jobs; i++)
        if (!job_is_skipped(e, ending->jobs[i]) &&
            remove_old(e, ending, ending->jobs[i], &spared, err) != E_OK)
            return skip_damaged_job(e, ending->jobs[i], err);
    if (spared.n_jobs > 0 && store_ending_add(e->store, &spared, err) != E_OK)
        return err->code;
    return store_ending_remove(e->store, ending->id, err);
}

/* Removes the jobs of one queue and state that are too old, and lowers *next_at to the time at
 * which the next one will be. */
static enum err_code retain_state(struct engine *e, struct queue *q, enum job_state state,
                                  size_t *room, int64_t *next_at, struct err *err)
{
    for (;;) {
        struct ending oldest;
        bool left = false;

        if (store_ending_oldest(e->store, q->id, state, &e->batch.arena, &oldest, err) != E_OK)
            return err->code;
        if (oldest.id == 0)
            return E_OK;
        int64_t due_at = oldest.finished_at + keep_us(q, state) + 1;

        if (due_at <= e->now.wall_at && is_followed(e, &oldest, &left, err) != E_OK)
            return err->code;
        if (due_at > e->now.wall_at || *room == 0 || left) {
            *next_at = due_at < *next_at ? due_at : *next_at;
            return E_OK;
        }
        if (remove_ending(e, &oldest, keep_us(q, state), err) != E_OK)
            return err->code;
        *room -= oldest.n_jobs < *room ? oldest.n_jobs : *room;
    }
}

/* The queue was removed with its jobs: removes their endings. */
static enum err_code forget_endings(struct engine *e, int64_t queue, size_t *room, int64_t *next_at,
                                    struct err *err)
{
    size_t n = 0;

    if (engine_write(e, err) != E_OK ||
        store_ending_remove_queue(e->store, queue, *room, &n, err) != E_OK)
        return err->code;
    *room -= n;
    if (*room == 0)
        *next_at = e->now.wall_at;
    return E_OK;
}

static enum err_code retain_queue(struct engine *e, int64_t queue, size_t *room, int64_t *next_at,
                                  struct err *err)
{
    struct queue *q = map_find(&e->queues.by_id, queue);

    if (q == NULL)
        return forget_endings(e, queue, room, next_at, err);
    for (unsigned s = JOB_DONE; s < JOB_STATE_COUNT; s++)
        if (retain_state(e, q, (enum job_state)s, room, next_at, err) != E_OK)
            return err->code;
    return E_OK;
}

/* Removes ended groups whose time has come. */
static enum err_code remove_groups(struct engine *e, int64_t *next_at, struct err *err)
{
    int64_t ids[RETAIN_ROWS];
    int64_t gone_at = 0;
    size_t n = 0;

    if (store_groups_gone(e->store, e->now.wall_at, RETAIN_ROWS, ids, &n, err) != E_OK)
        return err->code;
    if (n > 0 && engine_write(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (store_group_remove(e->store, ids[i], err) != E_OK)
            return err->code;
    if (store_groups_gone_next(e->store, &gone_at, err) != E_OK)
        return err->code;
    if (gone_at != 0 && gone_at < *next_at)
        *next_at = gone_at;
    return E_OK;
}

enum err_code retention_run(struct engine *e, struct err *err)
{
    int64_t next_at = TIME_NEVER;
    size_t room = RETAIN_ROWS;
    int64_t queue = 0;

    if (endings_write(e, err) != E_OK) /* the batch's own count for next_at */
        return err->code;
    for (;;) {
        if (store_ending_next_queue(e->store, queue, &queue, err) != E_OK)
            return err->code;
        if (queue == 0)
            break;
        if (retain_queue(e, queue, &room, &next_at, err) != E_OK)
            return err->code;
    }
    if (remove_groups(e, &next_at, err) != E_OK)
        return err->code;
    if (room > 0 && next_at < e->now.wall_at + RETAIN_PAUSE_US)
        next_at = e->now.wall_at + RETAIN_PAUSE_US;
    if (engine_write(e, err) != E_OK ||
        store_work_remove_old(e->store, e->now.wall_at - WORK_KEPT_US, err) != E_OK ||
        workers_forget_old(e, err) != E_OK)
        return err->code;
    if (must_ask_store(e) && next_at > e->now.wall_at + RETAIN_LOOK_US)
        next_at = e->now.wall_at + RETAIN_LOOK_US;
    e->sweep.retain_at = next_at;
    return E_OK;
}
