/* SPDX-License-Identifier: MIT */
#include "model.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/compiler.h"

void model_init(struct model *m)
{
    memset(m, 0, sizeof(*m));
    for (int i = 0; i < MODEL_QUEUES; i++)
        m->queues[i].name = model_queue_names[i];
    m->queues[MODEL_QUEUES - 1].there = true;
    m->queues[MODEL_QUEUES - 1].state = QUEUE_UP;
    m->queues[MODEL_QUEUES - 1].def = MODEL_DEFS - 1;
    m->definitions = 1;
}

struct model_job *model_find(struct model *m, int64_t id)
{
    size_t low = 0, high = m->n_jobs;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (m->jobs[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < m->n_jobs && m->jobs[low].id == id ? &m->jobs[low] : NULL;
}

void model_set_queue(struct model_queue *q, enum queue_state state, int def, int links)
{
    if (q->there && q->state == state && q->def == def && q->links == links)
        return;
    *q = (struct model_queue){.name = q->name,
                              .there = true,
                              .state = state,
                              .def = def,
                              .links = links,
                              .restarts = q->there ? q->restarts : 0};
}

void model_raise(struct model *m)
{
    m->definitions += !m->raised;
    m->raised = true;
}

int model_queue_named(const struct model *m, struct slice name)
{
    for (int i = 0; i < MODEL_QUEUES; i++)
        if (m->queues[i].there && slice_is(name, m->queues[i].name))
            return i;
    return -1;
}

const struct model_def *model_def_of(const struct model *m, const struct model_job *j)
{
    return &model_defs[m->queues[j->queue].def];
}

bool model_move(struct model *m, struct model_job *j, enum job_event event, enum job_state to)
{
    if (job_state_next(j->state, event) != to)
        return false;
    m->moves[j->state][event]++;
    j->state = to;
    j->changed = true;
    if (!job_state_ended(to))
        return true;
    j->ended = true;
    model_tell(m, j, 0, to);
    if (to == JOB_DONE || to == JOB_FAILED)
        model_note(m, j, j->queue, 0, to);
    return true;
}

void model_must_move(struct model *m, struct model_job *j, enum job_event event, enum job_state to)
{
    if (!model_move(m, j, event, to)) {
        fprintf(stderr, "sim: the state table has no %s that leads from %s to %s\n",
                job_event_name(event), job_state_name(j->state), job_state_name(to));
        abort();
    }
}

struct model_job *model_add(struct model *m, int64_t id, int queue, int64_t due_at, int64_t now_at)
{
    ASSERT(m->n_jobs < MODEL_JOBS_MAX);
    size_t at = m->n_jobs++;

    for (; at > 0 && m->jobs[at - 1].id > id; at--)
        m->jobs[at] = m->jobs[at - 1];
    struct model_job *j = &m->jobs[at];

    memset(j, 0, offsetof(struct model_job, record));
    j->n_record = 0;
    j->changed = true;
    j->id = id;
    j->queue = queue;
    j->state = due_at > now_at ? JOB_SCHEDULED : JOB_READY;
    j->due_at = j->due_max = due_at > now_at ? due_at : 0;
    j->worker = j->key = j->label = j->own_retry = j->routing.own_retry = -1;
    m->submitted++;
    return j;
}

void model_remove(struct model *m, struct model_job *j)
{
    size_t at = (size_t)(j - m->jobs);

    model_tell(m, j, 0, JOB_NONE);
    if (j->key >= 0 && m->keys[j->key].job == j->id)
        m->keys[j->key].job = 0;
    memmove(&m->jobs[at], &m->jobs[at + 1], (m->n_jobs - at - 1) * sizeof(m->jobs[0]));
    m->n_jobs--;
    m->removed++;
}

/* ---- the end of an attempt ---- */

static void defer(struct model *m, struct model_job *j, int64_t now_at, int64_t low, int64_t high)
{
    model_must_move(m, j, JOB_EV_DEFER, JOB_SCHEDULED);
    j->due_at = now_at + low;
    j->due_max = now_at + high;
    j->delay_us = high;
}

void model_set_clock(struct model *m, int64_t us)
{
    for (size_t i = 0; i < m->n_jobs; i++)
        if (m->jobs[i].delay_us > 0 && m->jobs[i].due_at > 0 &&
            !job_state_ended(m->jobs[i].state)) {
            m->jobs[i].due_at += us;
            m->jobs[i].due_max += us;
        }
}

/* The pause before the n-th retry lies between these two. */
static void pause_bounds(const struct model_def *d, int n, int64_t *ret_low, int64_t *ret_high)
{
    double us = (double)d->first_us;

    for (int i = 1; i < n && us < (double)d->cap_us; i++)
        us *= d->factor;
    if (us > (double)d->cap_us)
        us = (double)d->cap_us;
    *ret_low = (int64_t)(us * (1 - d->jitter)) - 1;
    *ret_high = (int64_t)(us * (1 + d->jitter)) + 1;
    if (*ret_low < 0)
        *ret_low = 0;
}

/* It is done, or has failed for good: all of it, or the step it is at. */
static void end_well_or_not(struct model *m, struct model_job *j, bool failed,
                            const struct model_end *end)
{
    if (j->step > 0) {
        model_step_end(m, j, failed, end);
        return;
    }
    if (end->result != NULL)
        snprintf(j->result, sizeof(j->result), "%s", end->result);
    else if (end->set.value != 0)
        snprintf(j->result, sizeof(j->result), "{\"s%d\":%lld}", end->set.which,
                 (long long)end->set.value);
    if (failed)
        model_must_move(m, j, JOB_EV_FAIL, JOB_FAILED);
    else
        model_must_move(m, j, JOB_EV_DONE, JOB_DONE);
}

static void count_failure(struct model *m, struct model_job *j)
{
    j->failures++;
    m->failures++;
}

static void end_later(struct model *m, struct model_job *j, const struct model_end *end,
                      int64_t low, int64_t high)
{
    struct model_attempt *last = &j->record[j->n_record - 1];

    if (j->laters >= 15) {
        if (last->cause == JOB_CAUSE_NONE) {
            last->cause = JOB_CAUSE_PROTOCOL;
            j->laters++;
        } else {
            count_failure(m, j); /* by its status: the budget of `later` is used up */
        }
        end_well_or_not(m, j, true, end);
        return;
    }
    j->laters++;
    if (end->delayed)
        low = high = end->delay_us;
    defer(m, j, end->now_at, low, high);
}

static void end_failed(struct model *m, struct model_job *j, const struct model_end *end)
{
    const struct model_def *d = model_def_of(m, j);
    int max = j->own_retry >= 0 ? j->own_retry : d->max;
    bool never = end->final || (d->exits && end->exited && end->exit >= 64 && end->exit <= 74);
    int64_t low, high;

    if (!never && d->exits && end->exited && end->exit == 75) {
        pause_bounds(d, j->laters + 1, &low, &high);
        end_later(m, j, end, low, high);
        return;
    }
    count_failure(m, j);
    if (never || j->failures > max) {
        end_well_or_not(m, j, true, end);
        return;
    }
    pause_bounds(d, j->failures, &low, &high);
    if (end->delayed)
        low = high = end->delay_us;
    defer(m, j, end->now_at, low, high);
}

static void end_lost(struct model *m, struct model_job *j, const struct model_end *end)
{
    if (j->lost > 5)
        end_well_or_not(m, j, true, end);
    else
        model_must_move(m, j, JOB_EV_LOSE, JOB_READY);
}

/* So many counted failures in a row stop the queue: it takes as before and starts no more. */
static void count_streak(struct model_queue *q, bool failed)
{
    int stop_after = model_defs[q->def].stop_after;

    if (stop_after == 0)
        return;
    q->streak = failed ? q->streak + 1 : 0;
    if (q->streak >= stop_after && queue_state_starts(q->state))
        model_set_queue(q, q->state == QUEUE_UP ? QUEUE_PAUSE : QUEUE_DOWN, q->def, q->links);
}

static void record(struct model_job *j, const struct model_end *end)
{
    enum job_cause cause = end->outcome == JOB_OUT_DONE     ? JOB_CAUSE_NONE
                           : end->outcome == JOB_OUT_LOST   ? JOB_CAUSE_LOST
                           : end->outcome == JOB_OUT_FAILED ? JOB_CAUSE_EXIT
                                                            : JOB_CAUSE_NONE;

    ASSERT(j->n_record < MODEL_RECORD_MAX);
    j->record[j->n_record++] = (struct model_attempt){.token = j->token,
                                                      .outcome = end->outcome,
                                                      .number = j->step > 0 ? j->step : 1,
                                                      .nth = j->attempt - j->attempts_before,
                                                      .cause = cause,
                                                      .exited = end->exited,
                                                      .exit = end->exit,
                                                      .set = end->set};
}

void model_end_attempt(struct model *m, struct model_job *j, const struct model_end *end)
{
    struct model_queue *q = &m->queues[j->queue];
    int failures = m->failures;
    bool first = j->failures == 0; /* of this job: once it has failed it counts no more */

    ASSERT(j->state == JOB_RUNNING);
    record(j, end);
    j->finished_at = end->now_at;
    j->due_at = j->due_max = j->delay_us = 0;
    if (end->outcome == JOB_OUT_RETURNED)
        j->attempt--;
    if (end->outcome == JOB_OUT_LOST)
        j->lost++;
    if (end->outcome == JOB_OUT_DONE)
        end_well_or_not(m, j, false, end);
    else if (j->cancelling || end->outcome == JOB_OUT_CANCELLED)
        model_must_move(m, j, JOB_EV_CANCEL, JOB_CANCELLED);
    else if (end->outcome == JOB_OUT_RETURNED)
        model_must_move(m, j, JOB_EV_RETURN, JOB_READY);
    else if (end->outcome == JOB_OUT_LATER)
        end_later(m, j, end, 0, 0);
    else if (end->outcome == JOB_OUT_FAILED)
        end_failed(m, j, end);
    else
        end_lost(m, j, end);
    model_end_emits(m, j, end->outcome == JOB_OUT_DONE);
    if (end->outcome == JOB_OUT_DONE || (m->failures > failures && first))
        count_streak(q, m->failures > failures);
}

enum job_outcome model_outcome(const struct model_job *j, int64_t token)
{
    for (int i = j->n_record; i-- > 0;)
        if (j->record[i].token == token)
            return j->record[i].outcome;
    return JOB_OUT_NONE;
}

/* ---- claims ---- */

static bool goes_before(const struct model_job *a, const struct model_job *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
}

static bool is_picked(const size_t *picks, size_t n, size_t i)
{
    for (size_t k = 0; k < n; k++)
        if (picks[k] == i)
            return true;
    return false;
}

/* The place of the job's queue among those of the claim that have room left, or -1. */
static int place_in(const struct model *m, const struct model_claim *c, const int *left,
                    const struct model_job *j)
{
    bool bare = strstr(model_def_of(m, j)->source, "own_command") != NULL;

    for (size_t k = 0; k < c->n_queues && !(c->commands && bare); k++)
        if (c->queues[k] == j->queue && left[k] > 0 &&
            queue_state_starts(m->queues[j->queue].state))
            return (int)k;
    return -1;
}

size_t model_pick(const struct model *m, const struct model_claim *claim, size_t *picks,
                  size_t room)
{
    int left[MODEL_QUEUES];
    size_t n = 0;

    memcpy(left, claim->left, sizeof(left));
    while (n < (size_t)claim->max && n < room) {
        int best = -1;

        for (size_t i = 0; i < m->n_jobs; i++)
            if (m->jobs[i].state == JOB_READY && place_in(m, claim, left, &m->jobs[i]) >= 0 &&
                !is_picked(picks, n, i) && (best < 0 || goes_before(&m->jobs[i], &m->jobs[best])))
                best = (int)i;
        if (best < 0)
            break;
        left[place_in(m, claim, left, &m->jobs[best])]--;
        picks[n++] = (size_t)best;
    }
    return n;
}

bool model_expired(const struct model *m, const struct model_job *j, int64_t now_at)
{
    const struct model_def *d = model_def_of(m, j);
    int64_t keep_us = j->state == JOB_FAILED ? d->keep_failed_us : d->keep_done_us;

    return job_state_ended(j->state) && j->finished_at + keep_us < now_at;
}
