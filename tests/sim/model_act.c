/*
 * The reference model: what people do to jobs, one by one or over a filter.
 */
/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "model.h"

/* ---- actions ---- */

void model_merge(char *out, const char *base, const char *member, int64_t value)
{
    struct buf b = BUF_INIT(MODEL_PARAMS - 1);
    struct slice key, other;

    buf_add_char(&b, '{');
    for (struct jtext_iter it = jtext_members(slice_of(base));
         jtext_next_member(&it, &key, &other);)
        if (!jtext_key_is(key, member)) {
            jtext_add_comma(&b);
            buf_add_slice(&b, key);
            buf_add_char(&b, ':');
            buf_add_slice(&b, other);
        }
    jtext_add_key(&b, member);
    buf_add_int(&b, value);
    buf_add_char(&b, '}');
    ASSERT(!b.overflowed);
    snprintf(out, MODEL_PARAMS, "%s", buf_text(&b));
    buf_deinit(&b);
}

void model_place(struct model *m, struct model_job *j, int64_t now_at)
{
    if (j->delay_us > 0 && j->due_at > now_at + j->delay_us) /* the clock was set back in between */
        j->due_at = j->due_max = now_at + j->delay_us;
    if (j->held || j->waiting || j->linked) {
        model_must_move(m, j, JOB_EV_HOLD, JOB_HELD);
    } else if (j->due_at > now_at) {
        model_must_move(m, j, JOB_EV_DEFER, JOB_SCHEDULED);
    } else {
        model_must_move(m, j, JOB_EV_WAKE, JOB_READY);
        j->due_at = j->due_max = j->delay_us = 0;
    }
}

static enum err_code act_cancel(struct model *m, struct model_job *j, const struct model_act *a)
{
    if (j->state == JOB_CANCELLED)
        return E_OK;
    if (job_state_ended(j->state))
        return E_CONFLICT;
    j->changed = true;
    if (j->state == JOB_RUNNING) {
        if (!j->cancelling && j->worker < MODEL_WORKERS - 1)
            j->note = NOTE_UNTOLD;
        j->cancelling = true;
        return E_OK;
    }
    model_must_move(m, j, JOB_EV_CANCEL, JOB_CANCELLED);
    j->finished_at = a->now_at;
    return E_OK;
}

static enum err_code act_retry(struct model *m, struct model_job *j, const struct model_act *a)
{
    if (!job_state_ended(j->state) || model_is_left(m, j->id))
        return E_CONFLICT;
    const struct model_step *step = j->step == 0 ? NULL : model_step_again(j, a->from, a->anew);
    int queue = step != NULL ? step->queue : j->queue;

    if ((j->step == 0 && a->from != 0) || (j->step > 0 && step == NULL) || !m->queues[queue].there)
        return E_INVALID;
    if (!queue_state_takes(m->queues[queue].state))
        return E_QUEUE_DOWN;
    for (size_t i = 0; i < m->n_telling; i++)
        if (m->telling[i] == j->id)
            return E_CONFLICT;
    bool waits_again = j->in_vain && !a->alone && !a->anew;

    if (waits_again && !model_hopes_again(m, j))
        return E_CONFLICT;
    model_must_move(m, j, JOB_EV_AGAIN, JOB_READY);
    j->in_vain = false;
    if (a->member != NULL && strcmp(a->member, "s0") == 0)
        j->routing.changed = j->n_record;
    if (step != NULL)
        model_route_again(j, step);
    j->failures = j->lost = j->laters = 0;
    j->held = j->waiting = j->linked = j->cancelling = false;
    j->result[0] = '\0';
    j->due_at = j->due_max = j->delay_us = j->finished_at = 0;
    j->done = j->total = j->expected_at = 0;
    j->unit = false;
    if (a->member != NULL)
        model_merge(j->params, j->params, a->member, a->value);
    for (int k = 0; k < j->routing.n_conds && waits_again; k++)
        j->waiting = j->waiting || j->routing.conds[k].kind == AFTER_SIGNAL ||
                     j->routing.conds[k].now != COND_HOLDS;
    if (j->waiting)
        model_place(m, j, a->now_at);
    if (!a->alone && !a->anew)
        m->reviving[m->n_reviving++] = j->id;
    return E_OK;
}

static enum err_code act_hold(struct model *m, struct model_job *j, const struct model_act *a)
{
    if (!job_state_waits(j->state))
        return E_CONFLICT;
    if (j->held) /* nothing is placed anew, also when the clock was set meanwhile */
        return E_OK;
    j->held = true;
    model_place(m, j, a->now_at);
    return E_OK;
}

static enum err_code act_release(struct model *m, struct model_job *j, const struct model_act *a)
{
    if (job_state_ended(j->state))
        return E_CONFLICT;
    if (!j->held)
        return E_OK;
    j->held = false;
    model_place(m, j, a->now_at);
    return E_OK;
}

static enum err_code act_now(struct model *m, struct model_job *j, const struct model_act *a)
{
    if (job_state_ended(j->state))
        return E_CONFLICT;
    if (j->state == JOB_RUNNING)
        return E_OK;
    j->due_at = j->due_max = j->delay_us = 0;
    model_place(m, j, a->now_at);
    return E_OK;
}

static enum err_code act_move(struct model *m, struct model_job *j, const struct model_act *a)
{
    if (a->target < 0 || !m->queues[a->target].there)
        return E_INVALID;
    if (!job_state_waits(j->state))
        return E_CONFLICT;
    if (a->target == j->queue)
        return E_OK;
    if (!queue_state_takes(m->queues[a->target].state))
        return E_QUEUE_DOWN;
    j->queue = a->target;
    j->changed = true;
    return E_OK;
}

static enum err_code act_patch(struct model *m, struct model_job *j, const struct model_act *a)
{
    if (!job_state_waits(j->state) || j->linked)
        return E_CONFLICT;
    if (a->has_priority)
        j->priority = a->priority;
    if (a->has_due) {
        j->due_at = j->due_max = a->due_at;
        j->delay_us = 0;
    }
    if (a->params != NULL)
        snprintf(j->params, sizeof(j->params), "%s", a->params);
    if (a->label >= 0)
        j->label = a->label;
    model_place(m, j, a->now_at);
    return E_OK;
}

static enum err_code act_delete(struct model *m, struct model_job *j, const struct model_act *a)
{
    (void)a;
    if (j->state == JOB_RUNNING || model_is_left(m, j->id))
        return E_CONFLICT;
    model_remove(m, j);
    return E_OK;
}

/* The caller makes the new job of a CLONE; this only says whether it may be. */
static enum err_code act_clone(struct model *m, struct model_job *j, const struct model_act *a)
{
    int queue = j->step > 0 ? j->routing.steps[0].queue : j->queue;

    (void)a;
    if (!m->queues[queue].there)
        return E_INVALID;
    return queue_state_takes(m->queues[queue].state) ? E_OK : E_QUEUE_DOWN;
}

enum err_code model_act(struct model *m, struct model_job *j, const struct model_act *act)
{
    static enum err_code (*const acts[ACTION_COUNT])(struct model *, struct model_job *,
                                                     const struct model_act *) = {
        [ACTION_CANCEL] = act_cancel,   [ACTION_RETRY] = act_retry, [ACTION_HOLD] = act_hold,
        [ACTION_RELEASE] = act_release, [ACTION_CLONE] = act_clone, [ACTION_NOW] = act_now,
        [ACTION_MOVE] = act_move,       [ACTION_PATCH] = act_patch, [ACTION_DELETE] = act_delete,
    };

    if (j->state == JOB_STAGED)
        return E_CONFLICT;
    return acts[act->kind](m, j, act);
}

/* ---- chunked work, retention ---- */

static bool work_means(const struct model_work *w, const struct model_job *j)
{
    if (j->id > w->last || (w->queue >= 0 && w->queue != j->queue))
        return false;
    if (w->states != 0 && !(w->states & 1U << j->state))
        return false;
    if (w->before_at != 0 && (!job_state_ended(j->state) || j->finished_at >= w->before_at))
        return false;
    return w->label < 0 || w->label == j->label;
}

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Jobs in their order, up to the first whose end is still to be followed: the next step begins with
 * that. */
static bool work_on(struct model *m, struct model_work *w, int64_t *ids, size_t n, int64_t now_at)
{
    struct model_act act = {
        .kind = w->kind, .target = w->target, .label = -1, .alone = true, .now_at = now_at};
    bool stays = w->kind == ACTION_RETRY || w->kind == ACTION_DELETE;

    if (n > 0)
        qsort(ids, n, sizeof(ids[0]), by_id);
    for (size_t i = 0; i < n; i++) {
        if (stays && model_is_left(m, ids[i])) {
            w->cursor = ids[i] - 1;
            return false;
        }
        (void)model_act(m, model_find(m, ids[i]), &act);
    }
    w->cursor = 0;
    return true;
}

void model_work_step(struct model *m, int64_t now_at)
{
    struct model_work *w = &m->work[0];
    int64_t ids[MODEL_JOBS_MAX];
    size_t n = 0;
    bool gone = w->queue >= 0 && !m->queues[w->queue].there;
    bool touches = w->ended_phase ? w->kind == ACTION_RETRY || w->kind == ACTION_DELETE
                                  : w->kind != ACTION_RETRY;

    for (size_t i = 0; i < m->n_jobs && touches && !gone; i++)
        if (job_state_ended(m->jobs[i].state) == w->ended_phase && m->jobs[i].id > w->cursor &&
            work_means(w, &m->jobs[i]))
            ids[n++] = m->jobs[i].id;
    if (!work_on(m, w, ids, n, now_at))
        return;
    if (!w->ended_phase) {
        w->ended_phase = true;
        return;
    }
    memmove(&m->work[0], &m->work[1], (m->n_work - 1) * sizeof(m->work[0]));
    m->n_work--;
}
