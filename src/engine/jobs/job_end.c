/* SPDX-License-Identifier: MIT */
#include "engine/jobs/job_end.h"

#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/followups/waiter.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"

/* A length is kept to, whatever happened to the clock while it did not count: before a start, or
 * while held. */
static void bound_delay(const struct engine *e, struct job *j)
{
    if (j->delay_us > 0 && j->due_at > e->now.wall_at + j->delay_us)
        j->due_at = e->now.wall_at + j->delay_us;
}

void job_settle(struct engine *e, struct job *j)
{
    bound_delay(e, j);
    enum job_event event = j->holds != 0                ? JOB_EV_HOLD
                           : j->due_at > e->now.wall_at ? JOB_EV_DEFER
                                                        : JOB_EV_WAKE;

    if (event == JOB_EV_WAKE)
        j->due_at = j->delay_us = 0;
    j->state = job_state_next(j->state, event);
}

enum err_code job_end_unrun(struct engine *e, const struct job *was, enum job_event event,
                            enum job_cause cause, struct slice why, struct err *err)
{
    struct job now = *was;
    bool hit = false;

    now.state = job_state_next(was->state, event);
    if (!job_state_ended(now.state))
        return store_job_damaged(e->store, was->id.v, "its state does not fit the rest of it", err);
    now.cause = cause;
    now.finished_at = e->now.wall_at;
    if (why.size > 0)
        now.text = why;
    if (engine_write(e, err) != E_OK || after_forget(e, was, err) != E_OK ||
        store_job_end(e->store, was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, was->id.v, "it is not as it was read", err);
    effects_move(e, &now, was->state, queue_by_id(e, was->queue), job_state_name(now.state));
    e->batch.tally.cancelled += now.state == JOB_CANCELLED;
    e->batch.tally.failed += now.state == JOB_FAILED;
    return E_OK;
}
