/*
 * The states of a job and the moves between them.
 *
 * The table in state.c is the only judge: nothing writes a job's state without asking it.
 * Numbers are persisted: add at the end, never renumber.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/slice.h"

enum job_state {
    JOB_NONE,      /* not a state: the answer to a forbidden move */
    JOB_STAGED,    /* being prepared */
    JOB_HELD,      /* by hand, by `after`, by a paused group */
    JOB_SCHEDULED, /* due later; retries too */
    JOB_READY,
    JOB_RUNNING,
    JOB_DONE,
    JOB_FAILED,
    JOB_CANCELLED,
    JOB_RELAYED,
    JOB_STATE_COUNT
};

enum job_event {
    JOB_EV_WAKE,  /* may run now: committed, released, due, `now` */
    JOB_EV_DEFER, /* may run later: a delay, a retry, `later` */
    JOB_EV_HOLD,
    JOB_EV_CLAIM,
    JOB_EV_RETURN, /* the worker returns it unstarted: no attempt is counted */
    JOB_EV_LOSE,   /* its worker is gone */
    JOB_EV_DONE,
    JOB_EV_FAIL,
    JOB_EV_RELAY,
    JOB_EV_CANCEL,
    JOB_EV_AGAIN, /* an ended job is run once more */
    JOB_EV_STEP,  /* the next step of its route begins */
    JOB_EVENT_COUNT
};

/* Why a job is held; it continues when all bits are clear.  Persisted. */
enum job_hold {
    JOB_HOLD_HAND = 1,
    JOB_HOLD_AFTER = 2,
    JOB_HOLD_GROUP = 4,
    JOB_HOLD_FOLLOWUPS = 8, /* jobs that follow its last step are still to be created */
    JOB_HOLD_FILTER = 16,   /* a command of its queue has not judged it yet */
};

/* The state after the event, or JOB_NONE when the move is forbidden. */
enum job_state job_state_next(enum job_state from, enum job_event event);

static inline bool job_state_ended(enum job_state s)
{
    return s >= JOB_DONE && s < JOB_STATE_COUNT;
}

/* Waiting: neither running nor ended. */
static inline bool job_state_waits(enum job_state s)
{
    return s >= JOB_STAGED && s <= JOB_READY;
}

const char *job_state_name(enum job_state s);
const char *job_event_name(enum job_event e);

/* JOB_NONE when it is no state's name. */
enum job_state job_state_parse(struct slice name);
