/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "engine/batch/transaction.h"
#include "engine/followups/after.h"
#include "store/jobs/jobs.h"
#include "store/jobs/record.h"

static void take_entry(void *ctx, const struct progress_entry *entry)
{
    struct step_ends *s = ctx;

    if (entry->number > 0 && entry->outcome != JOB_OUT_NONE)
        map_put(&s->last, entry->number, (void *)(uintptr_t)entry->outcome);
}

enum err_code step_ends_load(struct engine *e, int64_t job, struct step_ends *ret, struct err *err)
{
    struct step_ends s = {.last = MAP_INIT};

    if (store_job_load(batch_store(e), job, LOAD_PAYLOAD, batch_arena(e), &s.job, &s.found, err) !=
        E_OK)
        return err->code;
    if (s.found)
        routing_parse(s.job.routing, batch_arena(e), &s.routing);
    if (s.found && store_progress_load(batch_store(e), job, take_entry, &s, err) != E_OK) {
        map_deinit(&s.last);
        return err->code;
    }
    *ret = s;
    return E_OK;
}

void step_ends_deinit(struct step_ends *s)
{
    map_deinit(&s->last);
    s->last = MAP_INIT;
}

/* Whether the job may still run the step.  Steps before the current one have ended or were skipped,
 * and so have those with a status at the submit. */
static bool is_to_come(const struct step_ends *s, int step)
{
    for (size_t i = 0; i < s->routing.n_skip; i++)
        if (s->routing.skip[i] == step)
            return false;
    return route_place(&s->routing, step) >= route_place(&s->routing, s->job.step);
}

int step_ends_state(const struct step_ends *s, int step)
{
    enum job_outcome last;

    if (!s->found)
        return JOB_NONE;
    bool ended = job_state_ended(s->job.state);

    if (!ended && is_to_come(s, step))
        return STEP_OPEN;
    last = (enum job_outcome)(uintptr_t)map_find(&s->last, step);
    if (last == JOB_OUT_NONE)
        return STEP_UNRUN;
    if (last == JOB_OUT_DONE)
        return JOB_DONE;
    return s->job.state == JOB_CANCELLED && step == s->job.step ? JOB_CANCELLED : JOB_FAILED;
}

enum after_verdict step_verdict(enum after_on on, int state)
{
    if (state == STEP_OPEN)
        return AFTER_OPEN;
    return state == STEP_UNRUN ? AFTER_NEVER : after_judge_end(on, state);
}

static const char *word_for(int state)
{
    switch (state) {
    case JOB_NONE: return "was removed";
    case JOB_DONE: return "did not fail";
    case JOB_FAILED: return "failed";
    case JOB_CANCELLED: return "was cancelled";
    default: return "ended otherwise";
    }
}

const char *after_why(struct engine *e, int64_t job, int step, int state)
{
    char id[ID_TEXT_SIZE];
    char text[160];

    id_format(job, id);
    if (state == STEP_UNRUN)
        snprintf(text, sizeof(text), "step %d of job %s never ran", step, id);
    else if (step > 0 && state != JOB_NONE)
        snprintf(text, sizeof(text), "step %d of job %s, which it waited for, %s", step, id,
                 word_for(state));
    else
        snprintf(text, sizeof(text), "job %s, which it waited for, %s", id, word_for(state));
    return arena_strdup(batch_arena(e), slice_of(text));
}

int group_job_state(enum group_state state)
{
    switch (state) {
    case GROUP_OPEN:
    case GROUP_FINISHING: break;
    case GROUP_DONE: return JOB_DONE;
    case GROUP_FAILED: return JOB_FAILED;
    case GROUP_CANCELLED: return JOB_CANCELLED;
    }
    return STEP_OPEN;
}

const char *after_why_group(struct engine *e, int64_t group, int state)
{
    char id[ID_TEXT_SIZE];
    char text[200];

    snprintf(text, sizeof(text), "group %s %s", id_format(group, id),
             state == JOB_NONE        ? "is gone"
             : state == JOB_DONE      ? "is done"
             : state == JOB_CANCELLED ? "was cancelled"
                                      : "has failed");
    return arena_strdup(batch_arena(e), slice_of(text));
}
