/*
 * The reference model: what jobs wait for.
 *
 * A condition is decided by the end that decides it, whatever becomes of that job later.  Signals
 * are different: all of a job's must have their level at the same time, once it waits for nothing
 * else.
 */
/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "model.h"

/* ---- conditions ---- */

static enum cond_state judge_end(enum after_on on, enum job_state state)
{
    if (state == JOB_NONE)
        return COND_NEVER;
    if (on == AFTER_END)
        return COND_HOLDS;
    return state == (on == AFTER_SUCCESS ? JOB_DONE : JOB_FAILED) ? COND_HOLDS : COND_NEVER;
}

/* How a step ended that will not be run any more, by the record; JOB_NONE: it never was. */
static enum job_state state_of_step(const struct model_job *j, int step)
{
    for (int i = j->n_record; i-- > 0;) {
        const struct model_attempt *a = &j->record[i];

        if (a->number != step || a->outcome == JOB_OUT_RETURNED)
            continue;
        if (a->outcome == JOB_OUT_DONE)
            return JOB_DONE;
        return j->state == JOB_CANCELLED && step == j->step ? JOB_CANCELLED : JOB_FAILED;
    }
    return JOB_NONE;
}

bool model_cond_is_sound(struct model *m, const struct model_cond *c)
{
    const struct model_job *j = c->kind == AFTER_JOB ? model_find(m, c->job) : NULL;

    if (c->kind == AFTER_SIGNAL)
        return true;
    return j != NULL && (c->step == 0 || model_step_find(&j->routing, c->step) != NULL);
}

enum cond_state model_cond_judge(struct model *m, const struct model_cond *c)
{
    const struct model_job *j = model_find(m, c->job);
    bool ended = job_state_ended(j->state);

    if (c->step == 0)
        return ended ? judge_end(c->on, j->state) : COND_OPEN;
    if (!ended && !model_step_find(&j->routing, c->step)->skipped &&
        model_step_place(&j->routing, c->step) >= model_step_place(&j->routing, j->step))
        return COND_OPEN;
    return judge_end(c->on, state_of_step(j, c->step));
}

void model_tell(struct model *m, const struct model_job *j, int step, enum job_state state)
{
    for (size_t i = 0; i < m->n_jobs; i++)
        for (int k = 0; k < m->jobs[i].routing.n_conds && m->jobs[i].state == JOB_HELD; k++) {
            struct model_cond *c = &m->jobs[i].routing.conds[k];

            if (c->kind != AFTER_JOB || c->job != j->id || c->now != COND_OPEN)
                continue;
            if (step == c->step)
                c->now = judge_end(c->on, state);
            else if (step == 0)
                c->now = state == JOB_NONE ? COND_NEVER
                                           : judge_end(c->on, state_of_step(j, c->step));
        }
}

/* ---- those who wait ---- */

bool model_is_ripe(const struct model_job *j)
{
    for (int k = 0; k < j->routing.n_conds; k++)
        if (j->routing.conds[k].kind == AFTER_JOB && j->routing.conds[k].now != COND_HOLDS)
            return false;
    return true;
}

bool model_is_doomed(const struct model_job *j)
{
    for (int k = 0; k < j->routing.n_conds; k++)
        if (j->routing.conds[k].now == COND_NEVER)
            return true;
    return false;
}

bool model_has_levels(const struct model *m, const struct model_job *j)
{
    for (int k = 0; k < j->routing.n_conds; k++)
        if (j->routing.conds[k].kind == AFTER_SIGNAL &&
            m->links.signals[j->routing.conds[k].signal] < j->routing.conds[k].count)
            return false;
    return true;
}

void model_let_go(struct model *m, struct model_job *j, int64_t now_at)
{
    ASSERT(j->state == JOB_HELD && j->waiting);
    j->waiting = false;
    for (int k = 0; k < j->routing.n_conds; k++) {
        const struct model_cond *c = &j->routing.conds[k];

        if (c->kind == AFTER_SIGNAL && c->take)
            m->links.signals[c->signal] -= c->count;
    }
    model_place(m, j, now_at);
    m->links.released++;
}

/* The one that can never hold, if it is only one. */
static int64_t lost_of(const struct model_job *j)
{
    int64_t lost = 0;

    for (int k = 0; k < j->routing.n_conds; k++) {
        const struct model_cond *c = &j->routing.conds[k];

        if (c->kind != AFTER_JOB || c->now != COND_NEVER)
            continue;
        if (lost != 0 && lost != c->job)
            return 0;
        lost = c->job;
    }
    return lost;
}

bool model_hopes_again(struct model *m, struct model_job *j)
{
    for (int k = 0; k < j->routing.n_conds; k++) {
        struct model_cond *c = &j->routing.conds[k];

        if (c->kind == AFTER_JOB)
            c->now = model_find(m, c->job) == NULL ? COND_NEVER : model_cond_judge(m, c);
    }
    j->hangs_on = lost_of(j);
    return !model_is_doomed(j);
}

void model_doom(struct model *m, struct model_job *j, int64_t now_at)
{
    j->in_vain = true;
    j->hangs_on = lost_of(j);
    j->finished_at = now_at;
    model_must_move(m, j, JOB_EV_CANCEL, JOB_CANCELLED);
    m->links.doomed++;
}
