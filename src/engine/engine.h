/*
 * The engine: all changes to the store, in group commits.
 *
 * One thread owns it.  engine_run takes every op that waits, runs them by kind in one transaction,
 * commits once, then calls each op's `done`.  What the engine does by itself (expired leases, due jobs,
 * chunked work, retention) rides in the same transactions.  Time is a parameter (both clocks, see
 * base/clock.h): nothing in here reads one, so that the engine can be simulated.
 *
 * In memory, rebuilt from the store at open: queue definitions, the next ready ids of each queue, live
 * claims, waiting ops.  Nothing of it is a promise.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/job_state.h"
#include "engine/op.h"

struct engine;
struct store;
struct store_member;

enum event_kind { EVENT_JOB, EVENT_QUEUE };

/* Something that has been committed.  Slices are valid during the call only. */
struct event {
    enum event_kind kind;
    int64_t at;
    int64_t id; /* EVENT_JOB */
    struct slice queue;
    enum job_state state;         /* EVENT_JOB */
    enum queue_state queue_state; /* EVENT_QUEUE; 0: deleted */
    const char *what; /* submitted claimed done failed retry lost …: a word for people */
};

typedef void event_fn(void *ctx, const struct event *event);

/* A batch failed, or what follows a commit did: the store's trouble, told once for each. */
typedef void trouble_fn(void *ctx, const struct err *err);

struct engine_config {
    uint32_t node;                     /* of our ids; a shared store gives us one */
    const struct store_member *member; /* who we are, on a shared store; outlives the engine */
    bool clock_of_store; /* shared stores: the database's clock is the time, not the caller's */
    uint64_t seed;
    event_fn *on_event; /* NULL: nobody listens */
    void *event_ctx;
    trouble_fn *on_trouble; /* NULL: nobody is told */
    void *trouble_ctx;
    uint32_t waiting_max; /* waiting claims and waits; one more is E_TOO_MANY */
    uint32_t settle_rows; /* of staged jobs, in one commit; 0: as many as is sensible */
};

/* Running totals, readable from any thread. */
struct engine_stats {
    atomic_uint_fast64_t commits, rollbacks, submitted, claimed, done, failed, retried, later,
        returned, lost, cancelled, stale, deleted, retained;
    atomic_uint_fast64_t waiting;      /* ops waiting now */
    atomic_int_fast64_t last_error_at; /* 0: the last commit went well */
};

/* Opens over a store that is open for writing (which stays the caller's) and reads what it needs.  All
 * leases found get a full period from `now` on. */
MUST_CHECK enum err_code engine_open(struct store *store, const struct engine_config *config,
                                     struct now now, struct engine **ret_engine, struct err *err);

/* The base of full ids in what workers get, which outlives the engine; NULL (at first): none.  Before the
 * engine's thread starts. */
void engine_set_url(struct engine *e, const char *url);

/* Answers what still waits (claims with no jobs, waits with the job as it is) and frees the engine. */
void engine_close(struct engine *e);

/* Runs a list of ops (linked by `next`, may be NULL) and whatever is due.  Every op is answered now,
 * except those that may wait.  One transaction, or several when much is asked at once. */
void engine_run(struct engine *e, struct op *ops, struct now now);

/* Clients may have left: ops that nobody waits for any more are answered by the next engine_run. */
void engine_look_for_gone(struct engine *e);

/* How long until engine_run should be called though no op came: 0 when there is work left to do at once,
 * TIME_NEVER when nothing is to come.  Measured by the steady clock; at most a minute while something is
 * due by the wall clock, which may be set meanwhile. */
int64_t engine_next_us(const struct engine *e, struct now given);

const struct engine_stats *engine_get_stats(const struct engine *e);
