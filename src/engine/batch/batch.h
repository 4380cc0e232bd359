/*
 * A batch: ops in, one transaction, answers out.
 *
 * struct batch is everything that lives for one transaction.  Use cases gather in it what is
 * written together at the end (new jobs, counts, endings) and what memory learns after the commit
 * (claims, cancels, events, totals).  A batch that fails is cleared: nothing of it happened.
 * phases.c has the order in which a batch runs.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "core/job/attempt.h"
#include "core/job/job.h"
#include "engine/batch/counts.h"
#include "engine/claims/claims.h"
#include "engine/engine.h"
#include "engine/filters/filters.h"
#include "engine/followups/followups.h"
#include "engine/gates/gate.h"
#include "engine/groups/groups.h"
#include "engine/jobs/cancels.h"
#include "engine/jobs/keys.h"
#include "store/clock/expiries.h"

struct engine;
struct queue;

/* What a batch adds to the totals. */
struct tally {
    uint64_t submitted, claimed, failed, cancelled, retried, stale, deleted, retained, fired,
        expired;
    uint64_t groups_opened, groups_ended;
    uint64_t outcomes[JOB_OUT_COUNT];
    uint64_t dropped[FILTER_KINDS];
};

/* An attempt in a queue with stop_after has ended. */
struct streak_end {
    struct queue *queue;
    int64_t failed; /* the job that failed, 0: the attempt succeeded */
};

struct ended_job {
    int64_t queue;
    enum job_state state;
    int64_t id;
};

struct batch {
    struct op **ops;
    size_t n_ops;
    int64_t rounds_before; /* round trips to the store when it began */
    struct arena arena;    /* for whatever lives until the answers are sent */

    /* Progress.  own_work and found_damage stay until the next batch: they say where one failed. */
    bool in_transaction;
    bool has_written;
    bool own_work;     /* it runs work that no op asked for */
    bool found_damage; /* it failed at a damaged row, which is skipped from now on */

    /* Written together, at the latest before the commit. */
    VEC(struct job) new_jobs;           /* submitted, not yet written */
    VEC(struct job) unfit_jobs;         /* those among them that cannot be run: see chain.c */
    VEC(struct stored_expiry) expiries; /* of new jobs: see clock/expire.h */
    struct key_book keys;               /* who holds the keys it looks at: see keys.h */
    VEC(struct streak_end) streak_ends; /* shared stores: for the streaks, in the order they came */
    VEC(struct ended_job) endings;      /* for retention */
    struct counts counts;
    struct followup_batch followups;
    struct gate_batch gates;
    struct filter_batch filters;
    struct group_batch groups;

    /* Changes that memory must take back if the batch fails. */
    bool queues_changed;
    bool workers_changed;
    bool definitions_raised;
    int64_t settled_step_us; /* part of clocks.step_us that this batch has written */

    /* After the commit: what memory learns, and whom it answers. */
    bool removed_some; /* rows were removed: free pages are released */
    VEC(struct queue *) gone_queues;
    VEC(struct live_claim *) new_claims;
    VEC(struct attempt_ref) ended_attempts; /* attempts that ended */
    VEC(int64_t) extended_claims;           /* tokens of claims whose leases were extended */
    VEC(struct judged_claim) judged_claims; /* claims whose leases were judged */
    VEC(int64_t) ended; /* jobs and bulk actions that ended: for those who wait for them */
    VEC(struct event) events;
    VEC(struct cancel_note) new_cancels;
    VEC(int64_t) reported_cancels; /* jobs whose cancel a touch has reported */
    struct tally tally;
};

/* The batch that runs, for use cases that need no more of the engine (transaction.h has its store,
 * arena and clock). */
struct batch *current_batch(struct engine *e);

void batch_deinit(struct engine *e);

/* Throws away what the batch has gathered. */
void batch_clear(struct engine *e);

/* Reads again what memory holds of the store, if a failed batch has made it stale. */
MUST_CHECK enum err_code batch_reload(struct engine *e, struct err *err);

/* Reports that a batch has failed, or what follows one. */
void report_trouble(struct engine *e, const struct err *err);
