/*
 * Followups: the effects of the end of a job or step on other jobs.
 *
 * Each end within a batch is noted (followups_add).  After the batch's other writes,
 * followups_settle follows each end: first its destinations (follow.h), then the jobs that wait for
 * it (pending_wakeups.h).  Ends that this causes are followed in the same way, up to the size of a
 * commit; the rest is stored and done by the next batches.  So every effect is decided by the
 * commit that caused it, and happens once.
 *
 * Within the batch's transaction, on the engine's thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "core/job/state.h"
#include "core/route/fanout.h"
#include "store/links/links.h"

struct engine;

/* Something has ended: a job without a route, a step of a route, or a route as a whole.  The last
 * step of a route is noted as a step and then, with step 0, as a whole: the destinations of the
 * step and of its queue belong to the first, those of the job to the second. */
struct followup_end {
    int64_t job;
    int64_t queue;        /* in which it ended */
    int64_t group;        /* that it is a member of; 0: none */
    enum job_state state; /* DONE FAILED CANCELLED; JOB_NONE: the job was removed */
    int step;             /* its number; 0: the job itself */
    bool whole;           /* the job has ended, not only a step of it */
    bool routed;          /* it has steps: its queue's destinations belong to the last step */
    bool awaited;         /* others may wait for it */
    bool has_dests;       /* it has destinations of its own */
};

/* A join has fired. */
struct join_firing {
    int64_t join;
    int64_t times;
};

/* What the store may hold for later batches.  A flag that is set in vain costs one query. */
struct followups {
    bool has_revivals;        /* cancelled jobs to revive: revive.h */
    bool has_fanouts;         /* unfinished publications or ends: spread.h, follow.h */
    bool fanouts_busy;        /* another server had locked some of these at the last try */
    int64_t fanouts_at;       /* steady: these are continued no earlier */
    bool has_skipped_fanouts; /* some of these are damaged; they stay until the next start */
    bool has_wakeups;         /* unfinished releases: pending_wakeups.h */
    int64_t wakeups_at;       /* steady: these are continued no earlier */
    bool fanout_turn;         /* which kind of fan-out the next batch begins with */
    struct fanout fanout_max; /* what one commit may create of a fan-out */
    unsigned fanout_pace;     /* the share of unfinished fan-outs in it: core/route/fanout.h */
    int64_t fanout_rounds;    /* round trips to the store that are counted already */
    int64_t missing_dest_at; /* steady: last line in the server's log about a missing destination */
};

/* Of the batch. */
struct followup_batch {
    VEC(struct followup_end) ends;
    VEC(struct stored_wait) new_waits; /* to be written together */
    VEC(int64_t) raised_signals;
    VEC(int64_t) signal_waiters;          /* new jobs that wait for signals only */
    size_t rows_used;                     /* by ends followed so far */
    bool wakeups_new;                     /* the store had no releases before this batch */
    bool wakeups_left;                    /* a release that was continued is not finished */
    int64_t wakeups_past;                 /* releases up to this target were continued */
    bool revivals_new;                    /* this batch has stored a revival */
    VEC(struct join_firing) join_firings; /* to be written together */
    struct fanout fanout;                 /* what it may still create */
    bool works_off;                       /* it continues fan-outs of earlier batches */
    int64_t fanouts_from;                 /* first id of those it has put off; 0: none */
};

/* Notes an end, if other jobs may depend on it. */
void followups_add(struct engine *e, const struct followup_end *end);

/* Follows the ends noted so far: call it before an ended job may be removed or run again. */
MUST_CHECK enum err_code followups_follow(struct engine *e, struct err *err);

/* Follows the noted ends, and continues what earlier batches have left.  Before the batch's
 * claims. */
MUST_CHECK enum err_code followups_settle(struct engine *e, struct err *err);

/* Finds out what earlier runs have left, when the engine opens an embedded store. */
MUST_CHECK enum err_code followups_load(struct engine *e, struct err *err);

/* Whether the next batch has something to continue, and from when on (TIME_NEVER: nothing). */
bool followups_are_due(const struct engine *e);
int64_t followups_due_at(const struct engine *e);

/* The batch is over. */
void followups_clear(struct engine *e);
void followups_deinit(struct engine *e);
