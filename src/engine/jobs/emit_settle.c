/*
 * Settles staged jobs: releases them, or drops them without a trace.
 *
 * Works on rows of `emits`, each with at most OP_EMIT_MAX jobs.  A row stays while its attempt
 * runs, so that its request can be repeated; afterwards it is removed when it is settled.  The rows
 * that are left are the work that is left, also after a crash.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "engine/batch/counts.h"
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/clock/expire.h"
#include "engine/filters/filters.h"
#include "engine/followups/after.h"
#include "engine/followups/waiter.h"
#include "engine/jobs/keys.h"
#include "engine/state.h"
#include "store/jobs/emits.h"
#include "store/jobs/jobs.h"
#include "store/jobs/record.h"

/* One commit settles whole attempts, the smallest first, up to SETTLE_ROWS rows in all, and then up
 * to half of SETTLE_ROWS of the oldest. */
enum { SETTLE_ROWS = 1000, UNSETTLED_MAX = 100 };

/* ---- memory ---- */

static void list(struct engine *e, struct emitter *m)
{
    if (!m->listed)
        VEC_PUSH(&e->emitters.settling, m);
    m->listed = m->fresh = true;
}

static void unlist(struct engine *e, struct emitter *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < e->emitters.settling.count && m->listed; i++)
        if (e->emitters.settling.items[i] != m)
            e->emitters.settling.items[kept++] = e->emitters.settling.items[i];
    if (m->listed)
        e->emitters.settling.count = kept;
    m->listed = false;
}

static void take_emitter(void *ctx, const struct stored_emitter *row)
{
    struct engine *e = ctx;
    struct emitter *m = mem_zalloc(sizeof(*m));

    m->row = *row;
    if (row->fate == EMIT_OPEN)
        map_put(&e->emitters.by_owner, row->owner, m);
    if (row->fate != EMIT_OPEN || row->visible_upto > 0)
        list(e, m);
    m->fresh = false;
}

/* On a shared store emitters are read when they are needed. */
enum err_code emitters_load(struct engine *e, struct err *err)
{
    e->emitters.is_unsettled = must_ask_store(e);
    return must_ask_store(e) ? E_OK : store_emitters_load(e->store, take_emitter, e, err);
}

enum err_code emitter_find(struct engine *e, const struct job *job, struct emitter **ret_emitter,
                           struct err *err)
{
    *ret_emitter = map_find(&e->emitters.by_owner, job->id.v);
    if (*ret_emitter != NULL || !must_ask_store(e) || !job->emitted)
        return E_OK;
    if (store_emitter_find(e->store, job->id.v, job->token, take_emitter, e, err) != E_OK)
        return err->code;
    *ret_emitter = map_find(&e->emitters.by_owner, job->id.v);
    return E_OK;
}

static void take_unsettled(void *ctx, const struct stored_emitter *row)
{
    struct engine *e = ctx;

    for (size_t i = 0; i < e->emitters.settling.count; i++)
        if (e->emitters.settling.items[i]->row.owner == row->owner &&
            e->emitters.settling.items[i]->row.token == row->token)
            return;
    take_emitter(e, row);
}

/* Loads emitters that no other server has locked. */
static enum err_code load_unsettled(struct engine *e, struct err *err)
{
    if (!e->emitters.is_unsettled || sweep_rests(e))
        return E_OK;
    if (store_emitters_unsettled(e->store, UNSETTLED_MAX, take_unsettled, e, err) != E_OK)
        return err->code;
    e->emitters.is_unsettled = false; /* shared_clear sets it again while some stay listed */
    return E_OK;
}

void emitters_free(struct engine *e)
{
    int64_t owner;
    void *m;

    for (size_t i = 0; i < e->emitters.settling.count; i++)
        if (e->emitters.settling.items[i]->row.fate != EMIT_OPEN)
            free(e->emitters.settling.items[i]);
    VEC_DEINIT(&e->emitters.settling);
    for (size_t i = 0; map_next(&e->emitters.by_owner, &i, &owner, &m);)
        free(m);
    map_deinit(&e->emitters.by_owner);
    e->emitters.by_owner = MAP_INIT;
}

bool emit_owns(const struct engine *e, int64_t job)
{
    return e->emitters.by_owner.count > 0 && map_find(&e->emitters.by_owner, job) != NULL;
}

/* ---- one request's jobs ---- */

static void note_dropped(struct engine *e, const struct job *j)
{
    struct queue *q = queue_by_id(e, j->queue);

    counts_add(&e->batch.counts, q->id, JOB_STAGED, -1);
    groups_forget_staged(e, j);
    effects_removed(e, j);
    effects_event(e, j, q, "dropped");
    e->batch.removed_some = true;
}

static void note_released(struct engine *e, const struct job *was)
{
    struct job now = *was;
    bool later = was->due_at > e->now.wall_at;

    now.state = job_state_next(JOB_STAGED, was->holds != 0 ? JOB_EV_HOLD
                                           : later         ? JOB_EV_DEFER
                                                           : JOB_EV_WAKE);
    now.due_at = later ? was->due_at : 0;
    effects_move(e, &now, JOB_STAGED, queue_by_id(e, now.queue), "released");
    e->batch.tally.submitted++;
}

/* A staged job gets its key when it is released: another job may have taken it meanwhile. */
static enum err_code take_keys(struct engine *e, const struct stored_emit *row,
                               const struct job *jobs, struct err *err)
{
    if (keys_open(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < row->n_jobs; i++) {
        if (jobs[i].key.size > 0 && row->contents == NULL)
            return store_job_damaged(e->store, jobs[i].id.v, "the hash of its content is missing",
                                     err);
        if (jobs[i].key.size > 0)
            keys_want(e, jobs[i].key, jobs[i].id.v, row->contents[i]);
    }
    return keys_take(e, err);
}

/* Whether the job got its key. */
static bool is_its_key(struct engine *e, const struct job *j)
{
    return keys_get(e, j->key)->who.job == j->id.v;
}

/* Whether a filter drops it, or another job stands for it. */
static bool is_dropped(struct engine *e, const struct job *j,
                       const struct filter_ruling **ret_ruling, struct arena *arena)
{
    const struct filter_ruling *r = filters_judge_staged(e, j, arena);

    *ret_ruling = r;
    if (r != NULL && r->verdict == VERDICT_DROP)
        drops_note(e, j->queue, &r->drop);
    if (r != NULL && r->verdict == VERDICT_DROP && j->group != 0)
        groups_delta(e, j->group)->counts.dropped++;
    return r != NULL && r->verdict != VERDICT_KEEP && r->verdict != VERDICT_REUSE;
}

/* Judges the job's conditions at its release: they may be already met, or impossible. */
static enum err_code judge_after(struct engine *e, struct job *j, struct after_never *ret_never,
                                 struct err *err)
{
    bool held = false;
    bool found = false;
    bool hit = false;
    struct job was;

    if (!(j->holds & JOB_HOLD_AFTER))
        return E_OK;
    if (after_release(e, j, &held, ret_never, err) != E_OK)
        return err->code;
    if (held || ret_never->is)
        return E_OK;
    if (store_job_load(e->store, j->id.v, LOAD_LIVE, &e->batch.arena, &was, &found, err) != E_OK)
        return err->code;
    if (!found)
        return store_job_damaged(e->store, j->id.v, "its row is missing", err);
    struct job now = was;

    j->holds = now.holds &= ~(unsigned)JOB_HOLD_AFTER;
    if (store_job_update(e->store, &was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, j->id.v, "it is not as it was read", err);
    return E_OK;
}

/* A command judges it after its release. */
static enum err_code hold_for_filter(struct engine *e, struct job *j, struct err *err)
{
    bool found = false;
    bool hit = false;
    struct job was;

    if (store_job_load(e->store, j->id.v, LOAD_LIVE, &e->batch.arena, &was, &found, err) != E_OK)
        return err->code;
    if (!found)
        return store_job_damaged(e->store, j->id.v, "its row is missing", err);
    struct job now = was;

    j->holds = now.holds |= JOB_HOLD_FILTER;
    if (store_job_update(e->store, &was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, j->id.v, "it is not as it was read", err);
    return desk_add(e, j, err);
}

/* Staged jobs of one row, split into those to release and those to drop. */
struct parted {
    int64_t *released, *dropped;
    size_t n_released, n_dropped;
    struct after_never *never;            /* by place in the row: whether the job can never run */
    const struct filter_ruling **rulings; /* by place; NULL: kept without a word */
};

static enum err_code part(struct engine *e, const struct stored_emit *row, struct job *jobs,
                          enum emit_fate fate, struct arena *arena, struct parted *p,
                          struct err *err)
{
    if (fate != EMIT_DROP && (take_keys(e, row, jobs, err) != E_OK ||
                              filters_look_at_staged(e, jobs, row->n_jobs, arena, err) != E_OK))
        return err->code;
    for (size_t i = 0; i < row->n_jobs; i++) {
        bool dropped = fate == EMIT_DROP || (jobs[i].key.size > 0 && !is_its_key(e, &jobs[i]));

        if (!dropped)
            dropped = is_dropped(e, &jobs[i], &p->rulings[i], arena);
        if (!dropped && p->rulings[i] != NULL && p->rulings[i]->held &&
            hold_for_filter(e, &jobs[i], err) != E_OK)
            return err->code;
        if (!dropped && jobs[i].key.size > 0)
            keys_use(e, jobs[i].key, jobs[i].id.v, row->contents[i]);
        if (!dropped && judge_after(e, &jobs[i], &p->never[i], err) != E_OK)
            return err->code;
        if (dropped)
            p->dropped[p->n_dropped++] = jobs[i].id.v;
        else
            p->released[p->n_released++] = jobs[i].id.v;
        if (dropped)
            note_dropped(e, &jobs[i]);
        else
            note_released(e, &jobs[i]);
        if (p->rulings[i] != NULL)
            filters_begin(e); /* the limits count it as released now */
    }
    return E_OK;
}

/* Cancels released jobs with an impossible condition. */
static enum err_code cancel_never(struct engine *e, const struct stored_emit *row,
                                  const struct parted *p, struct err *err)
{
    for (size_t i = 0; i < row->n_jobs; i++) {
        bool found = false;
        struct job j;

        if (!p->never[i].is)
            continue;
        if (store_job_load(e->store, row->jobs[i], LOAD_LIVE, &e->batch.arena, &j, &found, err) !=
            E_OK)
            return err->code;
        if (!found)
            return store_job_damaged(e->store, row->jobs[i], "its row is missing", err);
        if (after_cancel(e, &j, p->never[i].by, slice_of(p->never[i].why), err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* What filters say of jobs that are neither simply kept nor dropped. */
static enum err_code apply_rulings(struct engine *e, const struct stored_emit *row,
                                   const struct job *jobs, const struct parted *p, struct err *err)
{
    for (size_t i = 0; i < row->n_jobs; i++) {
        const struct filter_ruling *r = p->rulings[i];
        struct err ignored = ERR_INIT; /* the waiting job may have become something else */

        if (r == NULL)
            continue;
        if (r->verdict == VERDICT_REPLACE &&
            filters_replace(e, r, jobs[i].params, jobs[i].due_at, &ignored, err) != E_OK)
            return err->code;
        if (r->verdict == VERDICT_REUSE && filters_end_released(e, r, row->jobs[i], err) != E_OK)
            return err->code;
    }
    return E_OK;
}

static enum err_code let_go(struct engine *e, const struct stored_emit *row, enum emit_fate fate,
                            struct arena *arena, struct err *err)
{
    struct parted p = {.released = arena_array(arena, row->n_jobs, sizeof(int64_t)),
                       .dropped = arena_array(arena, row->n_jobs, sizeof(int64_t)),
                       .never = arena_array(arena, row->n_jobs, sizeof(struct after_never)),
                       .rulings = arena_array(arena, row->n_jobs, sizeof(*p.rulings))};
    struct job *jobs = NULL;
    size_t n = 0;

    if (store_staged_load(e->store, row, arena, &jobs, &n, err) != E_OK)
        return err->code;
    if (n != row->n_jobs)
        return store_job_damaged(e->store, row->owner, "some of its staged jobs are missing", err);
    if (part(e, row, jobs, fate, arena, &p, err) != E_OK ||
        store_staged_release(e->store, p.released, p.n_released, e->now.wall_at, arena, err) !=
            E_OK ||
        apply_rulings(e, row, jobs, &p, err) != E_OK)
        return err->code;
    if (store_staged_drop(e->store, p.dropped, p.n_dropped, arena, err) != E_OK ||
        cancel_never(e, row, &p, err) != E_OK)
        return err->code;
    return expire_released(e, p.released, p.n_released, err);
}

/* ---- one attempt's requests ---- */

static enum emit_fate fate_of(const struct emitter *m, const struct stored_emit *row)
{
    return row->visible && row->seq <= m->row.visible_upto ? EMIT_RELEASE : m->row.fate;
}

/* Settles the next request.  *ret_rows: rows touched, 0 when no request is left. */
static enum err_code settle_next(struct engine *e, struct emitter *m, size_t *ret_rows,
                                 struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    bool runs = m->row.fate == EMIT_OPEN;
    struct stored_emit row;

    if ((runs ? store_emit_first_visible(e->store, &m->row, &arena, &row, err)
              : store_emit_first(e->store, &m->row, &arena, &row, err)) != E_OK)
        return err->code;
    *ret_rows = row.id == 0 ? 0 : 1 + (row.staged ? row.n_jobs : 0);
    if (row.id == 0)
        return E_OK;
    if (row.staged) {
        if (let_go(e, &row, fate_of(m, &row), &arena, err) != E_OK)
            return err->code;
        m->row.staged -= (int64_t)row.n_jobs;
    }
    return runs ? store_emit_let_go(e->store, row.id, err)
                : store_emit_remove(e->store, row.id, err);
}

/* All is settled: removes the emitter, or, while its attempt runs, forgets the cursor's release. */
static enum err_code close_emitter(struct engine *e, struct emitter *m, struct err *err)
{
    unlist(e, m);
    if (m->row.fate == EMIT_OPEN) {
        m->row.visible_upto = 0;
        return store_emitter_put(e->store, &m->row, err);
    }
    enum err_code code = store_emitter_remove(e->store, m->row.owner, m->row.token, err);

    free(m);
    return code;
}

/* Settles about `room` rows; adds the number of rows touched to *used. */
static enum err_code settle(struct engine *e, struct emitter *m, size_t room, size_t *used,
                            struct err *err)
{
    size_t rows = 1;

    for (size_t done = 0; done < room && rows > 0; done += rows) {
        if (settle_next(e, m, &rows, err) != E_OK)
            return err->code;
        *used += rows;
    }
    return rows == 0 ? close_emitter(e, m, err) : store_emitter_put(e->store, &m->row, err);
}

/* ---- what is to be settled ---- */

/* Upper bound of the rows that settling it touches. */
static size_t rows_of(const struct emitter *m)
{
    return (size_t)m->row.staged + (m->row.fate == EMIT_OPEN ? 0 : (size_t)m->row.seq);
}

static bool is_older(const struct emitter *a, const struct emitter *b)
{
    return a->row.token != b->row.token ? a->row.token < b->row.token : a->row.owner < b->row.owner;
}

static bool is_smaller(const struct emitter *a, const struct emitter *b)
{
    return rows_of(a) != rows_of(b) ? rows_of(a) < rows_of(b) : is_older(a, b);
}

typedef bool comes_first_fn(const struct emitter *a, const struct emitter *b);

/* NULL when there is nothing to settle. */
static struct emitter *first_by(const struct engine *e, comes_first_fn *comes_first)
{
    struct emitter *first = NULL;

    for (size_t i = 0; i < e->emitters.settling.count; i++) {
        struct emitter *m = e->emitters.settling.items[i];

        if ((m->fresh || !sweep_rests(e)) && (first == NULL || comes_first(m, first)))
            first = m;
    }
    return first;
}

/* Small attempts come first: they are settled by the commit that ends them, even while large ones
 * take many commits. */
enum err_code emit_settle(struct engine *e, struct err *err)
{
    size_t room = e->config.settle_rows == 0 ? SETTLE_ROWS : e->config.settle_rows;
    struct emitter *m;
    size_t used = 0;

    if (load_unsettled(e, err) != E_OK)
        return err->code;
    if (first_by(e, is_older) == NULL)
        return E_OK;
    if (engine_write(e, err) != E_OK)
        return err->code;
    while ((m = first_by(e, is_smaller)) != NULL && used + rows_of(m) <= room)
        if (settle(e, m, SIZE_MAX, &used, err) != E_OK)
            return err->code;
    used = 0;
    while ((m = first_by(e, is_older)) != NULL && used < room / 2)
        if (settle(e, m, room / 2 - used, &used, err) != E_OK)
            return err->code;
    for (size_t i = 0; i < e->emitters.settling.count; i++)
        e->emitters.settling.items[i]->fresh = false;
    return E_OK;
}

enum err_code emit_release_visible(struct engine *e, struct emitter *m, int64_t upto,
                                   struct err *err)
{
    if (m->row.staged > 0) {
        m->row.visible_upto = upto;
        list(e, m);
    }
    return store_emitter_put(e->store, &m->row, err);
}

enum err_code emit_attempt_ended(struct engine *e, const struct job *was, bool done,
                                 struct err *err)
{
    struct emitter *m = NULL;

    if (emitter_find(e, was, &m, err) != E_OK)
        return err->code;
    /* Only a job that has emitted in this attempt, or ended an earlier one, can have a cursor. */
    if (done && (m != NULL || was->outcome != JOB_OUT_NONE) &&
        store_cursor_remove(e->store, was->id.v, err) != E_OK)
        return err->code;
    if (m == NULL)
        return E_OK;
    if (m->row.token != was->token)
        return store_job_damaged(e->store, was->id.v, "its emits are of another attempt", err);
    map_remove(&e->emitters.by_owner, was->id.v);
    m->row.fate = done ? EMIT_RELEASE : EMIT_DROP;
    list(e, m);
    return store_emitter_put(e->store, &m->row, err);
}
