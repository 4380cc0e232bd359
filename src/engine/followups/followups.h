/*
 * Links: what the end of a job or of one of its steps means to others.
 *
 * Whatever ends within a batch is noted (followups_add).  Once all else of the batch is written,
 * followups_settle follows each end: first where it leads (follow.h), then the jobs that wait for
 * it (pending_wakeups.h).  What that ends in turn is followed in the same way, up to the size of a
 * commit; the rest is durable and worked off by the next batches.  So every effect is decided by
 * the commit that caused it, and happens once.
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
    enum job_state state; /* DONE FAILED CANCELLED; JOB_NONE: the job was removed */
    int step;             /* its number; 0: the job itself */
    bool whole;           /* the job has ended, not only a step of it */
    bool routed;          /* it has steps: its end as a whole is not one in its queue */
    bool awaited;         /* others may wait for it */
    bool has_dests;       /* it has destinations of its own */
};

/* A join has fired. */
struct join_firing {
    int64_t join;
    int64_t times;
};

/* What the store may hold for later batches.  A flag that is set wrongly costs one look. */
struct followups {
    bool has_revivals;        /* jobs to be brought back: revive.h */
    bool has_fanouts;         /* publications or ends to be worked off: spread.h, follow.h */
    bool fanouts_busy;        /* another server had locked some of these at the last look */
    int64_t fanouts_at;       /* steady: those are continued no earlier */
    bool has_skipped_fanouts; /* damaged ones among these, which stay until the next start */
    bool has_wakeups;         /* waits to be looked at: pending_wakeups.h */
    int64_t wakeups_at;       /* steady: those are looked at no earlier */
    bool fanout_turn;         /* which kind of fan-out the next batch begins with */
    struct fanout fanout_max; /* what one commit may make of a fan-out */
    unsigned fanout_pace;     /* the part of it for what is worked off: core/route/fanout.h */
    int64_t fanout_rounds;    /* round trips to the store that have been counted */
    int64_t missing_dest_at; /* steady: last line in the server's log about a missing destination */
};

/* Of the batch. */
struct followup_batch {
    VEC(struct followup_end) ends;
    VEC(struct stored_wait) new_waits; /* to be written together */
    VEC(int64_t) raised_signals;
    VEC(int64_t) signal_waiters;          /* new jobs that wait for signals only */
    size_t rows_used;                     /* by what was followed so far */
    bool wakeups_new;                     /* the store had no releases before this batch */
    bool wakeups_left;                    /* one that was looked at is not finished */
    int64_t wakeups_past;                 /* releases up to this target were looked at */
    bool revivals_new;                    /* this batch has put a revival */
    VEC(struct join_firing) join_firings; /* to be written together */
    struct fanout fanout;                 /* what it may still make */
    bool works_off;                       /* it continues what earlier ones have left */
    int64_t fanouts_from;                 /* first id of what it has put off; 0: nothing */
};

/* Notes an end, if it means anything to others. */
void followups_add(struct engine *e, const struct followup_end *end);

/* Follows what has ended so far: before anything that may remove an ended job or run it again. */
MUST_CHECK enum err_code followups_follow(struct engine *e, struct err *err);

/* Follows what has ended, and what earlier batches have left.  Before the claims of the batch. */
MUST_CHECK enum err_code followups_settle(struct engine *e, struct err *err);

/* Finds out what is left, when the engine opens an embedded store. */
MUST_CHECK enum err_code followups_load(struct engine *e, struct err *err);

/* Whether the next batch has something to continue, and when it may (TIME_NEVER: nothing). */
bool followups_are_due(const struct engine *e);
int64_t followups_due_at(const struct engine *e);

void followups_clear(struct engine *e);  /* the batch is over */
void followups_deinit(struct engine *e); /* the engine is */
