/* SPDX-License-Identifier: MIT */
#include "core/job/attempt.h"

#include "base/compiler.h"

static enum job_event defer(struct job *j, const struct attempt_end *end, int64_t pause_us)
{
    j->delay_us = end->delayed ? end->delay_us : pause_us;
    j->due_at = end->now_at + j->delay_us;
    return JOB_EV_DEFER;
}

static enum job_event later(struct job *j, const struct attempt_end *end, int64_t pause_us)
{
    if (++j->laters > RETRY_LATER_MAX) {
        if (j->cause == JOB_CAUSE_NONE)
            j->cause = JOB_CAUSE_PROTOCOL;
        return JOB_EV_FAIL;
    }
    return defer(j, end, pause_us);
}

static enum job_event fail(struct job *j, const struct attempt_end *end,
                           const struct retry_policy *policy, struct rng *rng)
{
    if (j->cause == JOB_CAUSE_NONE)
        j->cause = JOB_CAUSE_EXIT;
    j->failures++;
    struct retry_attempt a = {.failures = j->failures,
                              .laters = j->laters,
                              .exited = end->exited,
                              .exit = end->exit,
                              .final = end->final};

    switch (retry_judge(policy, &a)) {
    case RETRY_AGAIN: return defer(j, end, retry_delay_us(policy, j->failures, rng));
    case RETRY_LATER:
        j->failures--;
        return later(j, end, retry_delay_us(policy, j->laters + 1, rng));
    case RETRY_FINAL: break;
    }
    return JOB_EV_FAIL;
}

static enum job_event decide(struct job *j, const struct attempt_end *end,
                             const struct retry_policy *policy, struct rng *rng)
{
    if (end->outcome == JOB_OUT_DONE)
        return JOB_EV_DONE;
    if (end->outcome == JOB_OUT_RETURNED) {
        j->attempt--;
        j->returned++;
    }
    if (end->outcome == JOB_OUT_LOST)
        j->lost++;
    if (j->cancelling || end->outcome == JOB_OUT_CANCELLED) {
        j->cause = JOB_CAUSE_CANCELLED;
        return JOB_EV_CANCEL;
    }
    switch (end->outcome) {
    case JOB_OUT_RETURNED: return JOB_EV_RETURN;
    case JOB_OUT_LATER: return later(j, end, 0);
    case JOB_OUT_FAILED: return fail(j, end, policy, rng);
    case JOB_OUT_LOST:
        j->cause = JOB_CAUSE_LOST;
        return j->lost > RETRY_LOST_MAX ? JOB_EV_FAIL : JOB_EV_LOSE;
    case JOB_OUT_NONE:
    case JOB_OUT_DONE:
    case JOB_OUT_CANCELLED:
    case JOB_OUT_COUNT: break;
    }
    ASSERT(!"an attempt ends in one of the outcomes above");
    return JOB_EV_FAIL;
}

enum job_event attempt_apply(struct job *j, const struct attempt_end *end,
                             const struct retry_policy *policy, struct rng *rng)
{
    ASSERT(j->state == JOB_RUNNING);
    j->outcome = end->outcome;
    j->cause = end->cause;
    j->exited = end->exited;
    j->exit = end->exit;
    j->finished_at = end->now_at;
    j->due_at = j->delay_us = 0;
    if (end->text.data != NULL)
        j->text = end->text;
    enum job_event event = decide(j, end, policy, rng);

    j->state = job_state_next(JOB_RUNNING, event);
    ASSERT(j->state != JOB_NONE);
    return event;
}
