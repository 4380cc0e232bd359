/*
 * The reference model: a job that carries its steps.
 */
/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "model.h"

const struct model_step *model_step_find(const struct model_routing *b, int number)
{
    for (int i = 0; i < b->n_steps; i++)
        if (b->steps[i].number == number)
            return &b->steps[i];
    return NULL;
}

int model_step_place(const struct model_routing *b, int number)
{
    int i = 0;

    while (i < b->n_steps && b->steps[i].number != number)
        i++;
    return i;
}

const struct model_step *model_step_next(const struct model_routing *b, int number, bool failed)
{
    for (int i = number == 0 ? 0 : model_step_place(b, number) + 1; i < b->n_steps; i++)
        if (!b->steps[i].skipped && (b->steps[i].final || !failed))
            return &b->steps[i];
    return NULL;
}

bool model_is_billed(const struct model_job *j)
{
    const struct model_routing *b = &j->routing;

    return b->n_steps + b->n_conds + b->on_success + b->on_failure + b->depth + b->topic > 0;
}

void model_step_begin(struct model_job *j, const struct model_step *step)
{
    j->queue = step->queue;
    j->step = step->number;
    j->attempts_before = j->attempt;
    j->failures = j->lost = j->laters = 0;
    j->own_retry = step->own_retry >= 0 ? step->own_retry : j->routing.own_retry;
    j->due_at = j->due_max = j->delay_us = 0;
    j->done = j->total = j->expected_at = 0;
    j->unit = false;
    j->changed = true;
}

void model_seen(const struct model_job *j, char *ret_params)
{
    const struct model_step *step = model_step_find(&j->routing, j->step);

    snprintf(ret_params, MODEL_PARAMS, "%s", j->params);
    if (j->assigned[0] != '\0')
        model_lay(ret_params, MODEL_PARAMS, j->params, j->assigned);
    if (step != NULL && step->params != 0)
        model_merge(ret_params, ret_params, "p", step->params);
}

/* ---- steps that are added ---- */

static int first_of_the_last(const struct model_routing *b)
{
    int at = b->n_steps;

    while (at > 0 && b->steps[at - 1].final)
        at--;
    return at;
}

enum err_code model_may_add(const struct model *m, const struct model_job *j,
                            const struct model_step *steps, int n)
{
    const struct model_step *at = model_step_find(&j->routing, j->step);

    if (at == NULL || at->final)
        return E_INVALID;
    for (int i = 0; i < n; i++)
        if (!m->queues[steps[i].queue].there || !model_leads(m, steps[i].on_success) ||
            !model_leads(m, steps[i].on_failure))
            return E_INVALID;
    return E_OK;
}

/* They come before the final ones at the end, with numbers that no other has. */
static void add_steps(struct model_job *j, const struct model_step *steps, int n)
{
    struct model_routing *b = &j->routing;
    int at = first_of_the_last(b);
    int last = 0;

    ASSERT(b->n_steps + n <= MODEL_STEPS);
    for (int i = 0; i < b->n_steps; i++)
        last = b->steps[i].number > last ? b->steps[i].number : last;
    memmove(&b->steps[at + n], &b->steps[at], (size_t)(b->n_steps - at) * sizeof(b->steps[0]));
    b->n_steps += n;
    for (int i = 0; i < n; i++) {
        b->steps[at + i] = steps[i];
        b->steps[at + i].number = last + 1 + i;
    }
}

/* ---- the end of a step ---- */

static void fail_step(struct model_job *j, const struct model_step *step)
{
    if (j->failed_step == 0 && !step->goes_on)
        j->failed_step = step->number;
}

/* A step whose queue is gone has failed before it began. */
static void record_unreached(struct model_job *j, const struct model_step *step)
{
    ASSERT(j->n_record < MODEL_RECORD_MAX);
    j->attempt++;
    j->record[j->n_record++] = (struct model_attempt){
        .outcome = JOB_OUT_FAILED, .number = step->number, .nth = 1, .cause = JOB_CAUSE_START};
    fail_step(j, step);
}

static void keep(struct model_job *j, const struct model_end *end)
{
    char set[MODEL_SET];

    if (end->set.value != 0) {
        snprintf(set, sizeof(set), "{\"s%d\":%lld}", end->set.which, (long long)end->set.value);
        model_lay(j->assigned, sizeof(j->assigned), j->assigned, set);
    }
    if (end->result != NULL)
        snprintf(j->result, sizeof(j->result), "%s", end->result);
}

static void end_whole(struct model *m, struct model_job *j)
{
    if (j->failed_step != 0)
        model_must_move(m, j, JOB_EV_FAIL, JOB_FAILED);
    else
        model_must_move(m, j, JOB_EV_DONE, JOB_DONE);
}

void model_step_end(struct model *m, struct model_job *j, bool failed, const struct model_end *end)
{
    int ended[MODEL_STEPS], n_ended = 0;
    int queue = j->queue;

    keep(j, end);
    if (end->n_steps > 0)
        add_steps(j, end->steps, end->n_steps);
    const struct model_step *step = model_step_find(&j->routing, j->step);

    if (failed)
        fail_step(j, step);
    ended[n_ended++] = step->number;
    step = model_step_next(&j->routing, step->number, j->failed_step != 0);
    while (step != NULL && !m->queues[step->queue].there) {
        record_unreached(j, step);
        ended[n_ended++] = step->number;
        step = model_step_next(&j->routing, step->number, j->failed_step != 0);
    }
    if (step == NULL && j->result[0] == '\0')
        snprintf(j->result, sizeof(j->result), "%s", j->assigned);
    for (int i = 0; i < n_ended; i++) {
        enum job_state state = failed || i > 0 ? JOB_FAILED : JOB_DONE;

        model_note(m, j, i == 0 ? queue : -1, ended[i], state);
        model_tell(m, j, ended[i], state);
    }
    if (step != NULL || j->failed_step != ended[0])
        j->cursor = 0; /* it was for that step */
    if (step == NULL) {
        end_whole(m, j);
        return;
    }
    model_must_move(m, j, JOB_EV_STEP, JOB_READY);
    model_step_begin(j, step);
    if (j->cancelling) /* it came too late for that step alone */
        model_must_move(m, j, JOB_EV_CANCEL, JOB_CANCELLED);
    j->cancelling = false;
}

/* ---- running it again ---- */

const struct model_step *model_step_again(const struct model_job *j, int from, bool anew)
{
    if (from == 0 && !anew)
        from = j->state == JOB_FAILED ? j->failed_step : j->state == JOB_CANCELLED ? j->step : 0;
    return from == 0 ? &j->routing.steps[0] : model_step_find(&j->routing, from);
}

/* What the steps before it have set counts, by the record: of each, its last attempt in a row. */
static void assign_anew(struct model_job *j, int before)
{
    j->assigned[0] = '\0';
    for (int i = 0; i < j->n_record; i++) {
        const struct model_attempt *a = &j->record[i];
        int next = i + 1;
        char set[MODEL_SET];

        while (next < j->n_record && j->record[next].outcome == JOB_OUT_RETURNED)
            next++;
        bool last = next == j->n_record || j->record[next].number != a->number ||
                    a->outcome == JOB_OUT_DONE;

        if (model_step_place(&j->routing, a->number) >= before || a->set.value == 0 || !last ||
            a->outcome == JOB_OUT_RETURNED || (a->set.which == 0 && i < j->routing.changed))
            continue;
        snprintf(set, sizeof(set), "{\"s%d\":%lld}", a->set.which, (long long)a->set.value);
        model_lay(j->assigned, sizeof(j->assigned), j->assigned, set);
    }
}

void model_route_again(struct model_job *j, const struct model_step *step)
{
    for (int i = 0; i < j->routing.n_steps; i++)
        j->routing.steps[i].skipped = false;
    if (step->number != j->step)
        j->cursor = 0;
    assign_anew(j, model_step_place(&j->routing, step->number));
    j->failed_step = 0;
    model_step_begin(j, step);
}
