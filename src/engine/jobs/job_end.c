/* SPDX-License-Identifier: MIT */
#include "engine/jobs/job_end.h"

#include "engine/batch/batch.h"
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/followups/waiter.h"
#include "engine/queues/queue.h"
#include "store/jobs/jobs.h"
#include "store/store.h"

void job_settle(struct engine *e, struct job *j)
{
    int64_t now_at = batch_now(e).wall_at;

    /* A delay never grows, even if the clock was set back before a start or while the job was
     * held. */
    if (j->delay_us > 0 && j->due_at > now_at + j->delay_us)
        j->due_at = now_at + j->delay_us;
    enum job_event event = j->holds != 0        ? JOB_EV_HOLD
                           : j->due_at > now_at ? JOB_EV_DEFER
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
        return store_job_damaged(batch_store(e), was->id.v,
                                 "its state contradicts its other fields", err);
    now.cause = cause;
    now.finished_at = batch_now(e).wall_at;
    if (why.size > 0)
        now.text = why;
    if (engine_write(e, err) != E_OK || after_forget(e, was, err) != E_OK ||
        store_job_end(batch_store(e), was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(batch_store(e), was->id.v, "it is not as it was read", err);
    effects_move(e, &now, was->state, queue_by_id(e, was->queue), job_state_name(now.state));
    current_batch(e)->tally.cancelled += now.state == JOB_CANCELLED;
    current_batch(e)->tally.failed += now.state == JOB_FAILED;
    return E_OK;
}
