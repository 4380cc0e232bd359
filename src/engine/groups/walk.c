/*
 * Members of a tree that was paused, resumed, cancelled or stopped: each is held, released or
 * cancelled, in chunks, and child groups follow.
 *
 * What becomes of a member is judged by the groups above it as they are then: a pause and a resume
 * that overtake each other end as the last one said.  The row's place moves with the commit, so a
 * crash continues there.  Two servers may do the same chunk: each member is judged as it is.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/groups/groups.h"
#include "engine/jobs/job_action.h"
#include "engine/jobs/job_end.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"

enum { CHUNK_ROWS = 500 };

bool groups_are_due(const struct engine *e)
{
    return groups_due_at(e) <= e->now.steady_at;
}

int64_t groups_due_at(const struct engine *e)
{
    return e->groups.has_work ? e->now.steady_at : TIME_NEVER;
}

/* ---- members ---- */

static enum err_code set_held(struct engine *e, const struct job *was, bool held, struct err *err)
{
    struct queue *q = queue_by_id(e, was->queue);
    struct job now = *was;
    bool hit = false;

    if (held == ((was->holds & JOB_HOLD_GROUP) != 0))
        return E_OK;
    now.holds ^= JOB_HOLD_GROUP;
    job_settle(e, &now);
    if (now.state == JOB_NONE)
        return store_job_damaged(e->store, was->id.v, "its state contradicts its other fields",
                                 err);
    if (store_job_update(e->store, was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, was->id.v, "it is not as it was read", err);
    effects_move(e, &now, was->state, q, held ? "held" : "released");
    return E_OK;
}

static enum err_code cancel(struct engine *e, const struct job *j, unsigned flags, struct err *err)
{
    const struct job_action action = {.kind = ACTION_CANCEL, .id = j->id.v, .may_command = true};
    struct job_action_result ignored;

    if (j->state == JOB_RUNNING)
        return job_action_apply(e, &action, j, &ignored, err);
    return job_end_unrun(e, j, JOB_EV_CANCEL, JOB_CAUSE_CANCELLED,
                         (flags & GROUP_IS_CANCELLED) != 0
                             ? SLICE("its group was cancelled")
                             : SLICE("another job of its group failed"),
                         err);
}

/* A staged job is judged after its release. */
static enum err_code look_at(struct engine *e, int64_t id, unsigned flags, struct err *err)
{
    bool found = false;
    struct job j;

    if (lock_job(e, id, err) != E_OK ||
        store_job_load(e->store, id, LOAD_LIVE, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || j.state == JOB_STAGED)
        return E_OK;
    if (group_cancels(flags) && j.closes == 0) /* finalisers run after a cancel as well */
        return cancel(e, &j, flags, err);
    flags &= GROUP_IS_PAUSED;
    return job_state_waits(j.state) ? set_held(e, &j, flags != 0, err) : E_OK;
}

static enum err_code walk_members(struct engine *e, struct group_step *step, struct err *err)
{
    int64_t ids[CHUNK_ROWS];
    unsigned flags = 0;
    size_t n = 0;

    if (groups_tree_flags(e, step->was.id, &flags, err) != E_OK ||
        store_group_members(e->store, step->was.id, step->was.place, CHUNK_ROWS, ids, &n, err) !=
            E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (!job_is_skipped(e, ids[i]) && look_at(e, ids[i], flags, err) != E_OK)
            return skip_damaged_job(e, ids[i], err);
    step->work = n == CHUNK_ROWS ? GROUP_WORK_MEMBERS : GROUP_WORK_CHILDREN;
    step->place = n == CHUNK_ROWS ? ids[n - 1] : 0;
    return E_OK;
}

/* ---- child groups ---- */

struct children {
    struct engine *e;
    unsigned flags; /* that they get */
    size_t n;
    int64_t last;
};

static void take_child(void *ctx, const struct stored_group *group)
{
    struct children *c = ctx;

    groups_know(c->e, group);
    struct group_delta *d = groups_delta(c->e, group->id);

    d->walks = true;
    d->set |= c->flags;
    if (c->flags != 0)
        groups_set_held(c->e, group->id, group->flags | c->flags);
    c->last = group->id;
    c->n++;
}

/* A cancel goes down to the children as their own; a pause stays where it was said. */
static enum err_code walk_children(struct engine *e, struct group_step *step, struct err *err)
{
    struct children c = {.e = e};

    if (group_cancels(step->was.flags)) {
        c.flags = GROUP_IS_CANCELLED | GROUP_IS_SEALED;
        e->batch.groups.held_changed = true;
    }
    if (store_group_children(e->store, step->was.id, step->was.place, CHUNK_ROWS, take_child, &c,
                             err) != E_OK)
        return err->code;
    step->work = c.n == CHUNK_ROWS ? GROUP_WORK_CHILDREN : GROUP_WORK_NONE;
    step->place = c.n == CHUNK_ROWS ? c.last : 0;
    return E_OK;
}

static enum err_code do_step(struct engine *e, struct group_step *step, struct err *err)
{
    groups_know(e, &step->was);
    if (engine_write(e, err) != E_OK)
        return err->code;
    if ((step->was.work == GROUP_WORK_MEMBERS && walk_members(e, step, err) != E_OK) ||
        (step->was.work == GROUP_WORK_CHILDREN && walk_children(e, step, err) != E_OK))
        return err->code;
    (void)groups_delta(e, step->was.id); /* it may have ended */
    VEC_PUSH(&e->batch.groups.steps, *step);
    return E_OK;
}

/* Groups that need no more than to be judged are taken together; of others one chunk. */
enum err_code groups_work(struct engine *e, struct err *err)
{
    struct group_step step = {.work = GROUP_WORK_NONE};
    int64_t above = e->groups.work_past; /* groups take turns */

    for (int n = 0; n < CHUNK_ROWS; n++) {
        step = (struct group_step){.work = GROUP_WORK_NONE};
        if (store_groups_work_next(e->store, above, &e->batch.arena, &step.was, err) != E_OK)
            return err->code;
        e->groups.has_work = n > 0 || above > 0 || step.was.id != 0;
        e->groups.work_past = step.was.id;
        if (step.was.id == 0)
            return E_OK;
        if (do_step(e, &step, err) != E_OK)
            return err->code;
        if (step.was.work != GROUP_WORK_JUDGE)
            return E_OK;
        above = step.was.id;
    }
    return E_OK;
}
