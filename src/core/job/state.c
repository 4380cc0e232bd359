/* SPDX-License-Identifier: MIT */
#include "core/job/state.h"

#include "base/compiler.h"

/* Moves that are not listed are forbidden. */
static const enum job_state next[JOB_STATE_COUNT][JOB_EVENT_COUNT] = {
    [JOB_STAGED] = {[JOB_EV_WAKE] = JOB_READY,
                    [JOB_EV_DEFER] = JOB_SCHEDULED,
                    [JOB_EV_HOLD] = JOB_HELD,
                    [JOB_EV_CANCEL] = JOB_CANCELLED},
    [JOB_HELD] = {[JOB_EV_WAKE] = JOB_READY,
                  [JOB_EV_DEFER] = JOB_SCHEDULED,
                  [JOB_EV_HOLD] = JOB_HELD,
                  [JOB_EV_FAIL] = JOB_FAILED, /* it cannot be run */
                  [JOB_EV_CANCEL] = JOB_CANCELLED},
    [JOB_SCHEDULED] = {[JOB_EV_WAKE] = JOB_READY,
                       [JOB_EV_DEFER] = JOB_SCHEDULED,
                       [JOB_EV_HOLD] = JOB_HELD,
                       [JOB_EV_CANCEL] = JOB_CANCELLED},
    [JOB_READY] = {[JOB_EV_WAKE] = JOB_READY,
                   [JOB_EV_DEFER] = JOB_SCHEDULED,
                   [JOB_EV_HOLD] = JOB_HELD,
                   [JOB_EV_CLAIM] = JOB_RUNNING,
                   [JOB_EV_CANCEL] = JOB_CANCELLED},
    [JOB_RUNNING] = {[JOB_EV_DEFER] = JOB_SCHEDULED,
                     [JOB_EV_RETURN] = JOB_READY,
                     [JOB_EV_LOSE] = JOB_READY,
                     [JOB_EV_STEP] = JOB_READY,
                     [JOB_EV_DONE] = JOB_DONE,
                     [JOB_EV_FAIL] = JOB_FAILED,
                     [JOB_EV_RELAY] = JOB_RELAYED,
                     [JOB_EV_CANCEL] = JOB_CANCELLED},
    [JOB_DONE] = {[JOB_EV_AGAIN] = JOB_READY},
    [JOB_FAILED] = {[JOB_EV_AGAIN] = JOB_READY},
    [JOB_CANCELLED] = {[JOB_EV_AGAIN] = JOB_READY},
    [JOB_RELAYED] = {[JOB_EV_AGAIN] = JOB_READY},
};

static const char *const state_names[JOB_STATE_COUNT] = {
    [JOB_NONE] = "none",           [JOB_STAGED] = "staged", [JOB_HELD] = "held",
    [JOB_SCHEDULED] = "scheduled", [JOB_READY] = "ready",   [JOB_RUNNING] = "running",
    [JOB_DONE] = "done",           [JOB_FAILED] = "failed", [JOB_CANCELLED] = "cancelled",
    [JOB_RELAYED] = "relayed",
};

static const char *const event_names[JOB_EVENT_COUNT] = {
    [JOB_EV_WAKE] = "wake",     [JOB_EV_DEFER] = "defer",   [JOB_EV_HOLD] = "hold",
    [JOB_EV_CLAIM] = "claim",   [JOB_EV_RETURN] = "return", [JOB_EV_LOSE] = "lose",
    [JOB_EV_DONE] = "done",     [JOB_EV_FAIL] = "fail",     [JOB_EV_RELAY] = "relay",
    [JOB_EV_CANCEL] = "cancel", [JOB_EV_AGAIN] = "again",   [JOB_EV_STEP] = "step",
};

enum job_state job_state_next(enum job_state from, enum job_event event)
{
    ASSERT(from < JOB_STATE_COUNT && event < JOB_EVENT_COUNT);
    return next[from][event];
}

const char *job_state_name(enum job_state s)
{
    ASSERT(s < JOB_STATE_COUNT);
    return state_names[s];
}

const char *job_event_name(enum job_event e)
{
    ASSERT(e < JOB_EVENT_COUNT);
    return event_names[e];
}

enum job_state job_state_parse(struct slice name)
{
    for (unsigned s = JOB_STAGED; s < JOB_STATE_COUNT; s++)
        if (slice_is(name, state_names[s]))
            return (enum job_state)s;
    return JOB_NONE;
}
