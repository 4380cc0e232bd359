/*
 * The engine: all changes to the store, in group commits.
 *
 * One thread owns it.  engine_run takes every op that waits, runs them by kind in one transaction,
 * commits once, then calls each op's `done`.  The engine's own work (expired leases, due jobs,
 * bulk actions, retention) rides in the same transactions.  Time is a parameter (both clocks,
 * see base/clock.h): nothing in here reads one, so that the engine can be simulated.
 *
 * In memory, rebuilt from the store at open: queue definitions, the next ready ids of each queue,
 * live claims, waiting ops.  Nothing of it is a promise.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/siphash.h"
#include "core/group/row.h"
#include "core/job/state.h"
#include "core/route/fanout.h"
#include "engine/op.h"

struct engine;
struct store;
struct store_member;

enum event_kind { EVENT_JOB, EVENT_QUEUE, EVENT_SCHEDULE, EVENT_GROUP };

/* Something that has been committed.  Slices are valid during the call only. */
struct event {
    enum event_kind kind;
    int64_t at;
    int64_t id;                    /* EVENT_JOB, EVENT_GROUP; EVENT_SCHEDULE: of its job, 0: none */
    struct slice queue;            /* EVENT_SCHEDULE: the schedule's name */
    int64_t nominal_at;            /* EVENT_SCHEDULE; 0: none */
    enum job_state state;          /* EVENT_JOB */
    enum queue_state queue_state;  /* EVENT_QUEUE; 0: deleted */
    struct slice group_kind, name; /* EVENT_GROUP */
    enum group_state group_state;  /* EVENT_GROUP */
    const char *what; /* submitted claimed done failed retry lost …: a word for people */
};

typedef void event_fn(void *ctx, const struct event *event);

/* Called once for each failure of the store: of a batch, or of what follows a commit. */
typedef void trouble_fn(void *ctx, const struct err *err);

/* This server has taken over the claims of dead ones: their names, and the number of claims. */
typedef void adopted_fn(void *ctx, const char *servers, int64_t claims);

struct engine_config {
    uint32_t node;                     /* in new ids; a shared store assigns one */
    const struct store_member *member; /* this server, on a shared store; outlives the engine */
    bool clock_of_store; /* shared stores: the database's clock is the time, not the caller's */
    bool trust_clock;    /* accepts one more than a year ahead of the store's last ids */
    uint64_t seed;
    struct siphash_key lease_key; /* random: becomes the store's if it has none */
    struct now (*clock)(void);    /* measures batches; NULL: they take no time */
    event_fn *on_event;           /* NULL: nobody listens */
    void *event_ctx;
    trouble_fn *on_trouble; /* NULL: not reported */
    void *trouble_ctx;
    adopted_fn *on_adopted; /* NULL: not reported */
    void *adopted_ctx;
    uint32_t waiting_max;       /* maximum waiting ops; one more is E_TOO_MANY */
    uint32_t waiting_reserve;   /* beyond waiting_max, for ops with may_use_reserve */
    uint32_t settle_rows;       /* staged jobs settled in one commit (0: default) */
    struct fanout fanout;       /* maximum created in one commit (0: default) */
    uint32_t subscriptions_max; /* queues that belong to workers; one more is E_TOO_MANY */
};

/* Running totals, readable from any thread. */
struct engine_stats {
    atomic_uint_fast64_t commits, rollbacks, submitted, claimed, done, failed, retried, later,
        returned, lost, cancelled, stale, deleted, retained, fired, expired, groups_opened,
        groups_ended;
    atomic_uint_fast64_t dropped;      /* by filters */
    atomic_uint_fast64_t waiting;      /* ops waiting now */
    atomic_int_fast64_t last_error_at; /* 0: the last commit went well */
};

/* Opens over a store that is open for writing, which the caller keeps, and reads what it needs.
 * All leases found get a full period from `now` on.  E_UNAVAILABLE when the clock cannot be right
 * (base/id_clock.h). */
MUST_CHECK enum err_code engine_open(struct store *store, const struct engine_config *config,
                                     struct now now, struct engine **ret_engine, struct err *err);

/* Sets the base of full ids for workers, which outlives the engine; NULL (at first): none.
 * Before the engine's thread starts. */
void engine_set_url(struct engine *e, const char *url);

/* `may_sync_later` is asked before each commit: whether its sync may be left to store_sync.  That
 * has to come before anything that the batch answers or reports leaves the process.  Without it
 * (at first) every commit syncs.  Before the engine's thread starts. */
void engine_set_sync(struct engine *e, bool (*may_sync_later)(void *ctx), void *ctx);

/* Answers what still waits (claims with no jobs, waits with the job as it is) and frees the
 * engine. */
void engine_close(struct engine *e);

/* Runs a list of ops (linked by `next`, may be NULL) and whatever is due.  Every op is answered
 * now, except those that may wait.  One transaction, or several when much is asked at once. */
void engine_run(struct engine *e, struct op *ops, struct now now);

/* The engine was due but not run for `us`: its process was stopped, or the machine suspended.
 * Leases of up to four times that length get a full period from the next engine_run on before they
 * are judged; there was time to renew longer ones. */
void engine_was_away(struct engine *e, int64_t us);

/* Whether there are leases to judge. */
bool engine_has_leases(const struct engine *e);

/* Clients may have left: the next engine_run answers the ops that nobody waits for. */
void engine_look_for_gone(struct engine *e);

/* How long until engine_run should be called even if no op arrives: 0 when there is work left,
 * TIME_NEVER when there is none to come.  Measured by the steady clock; at most a minute while
 * something is due by the wall clock, which may be set meanwhile. */
int64_t engine_next_us(const struct engine *e, struct now given);

/* What proves leases.  Constant while the engine is open; any thread. */
const struct siphash_key *engine_lease_key(const struct engine *e);

const struct engine_stats *engine_get_stats(const struct engine *e);
