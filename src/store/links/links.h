/*
 * What ties jobs together: waits, signals, joins.  All writes run inside the caller's transaction.
 *
 * On a shared store whoever reads here to judge holds what it judges, so that no two servers judge the same waiter,
 * signal or key of a join at once: each would see the other's change too late.  Waiters, and signals that others
 * hold, are passed over and never waited for: who holds them may be slow.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/job/state.h"
#include "core/route/bill.h"

struct store;

/* ---- waits: one row a condition that does not hold yet ---- */

struct stored_wait {
    int64_t waiter; /* the job that waits */
    int64_t seq;    /* place among its conditions */
    enum after_kind kind;
    int64_t target; /* id of the job or the signal: never the same number */
    int step;       /* JOB: 0 for the job itself */
    enum after_on on;
    int64_t count; /* SIGNAL */
    bool take;
};

typedef void store_wait_fn(void *ctx, const struct stored_wait *wait);

MUST_CHECK enum err_code store_waits_add(struct store *s, const struct stored_wait *waits, size_t n,
                                         struct arena *arena, struct err *err);

/* Those of one target above a waiter, in the order of (waiter, seq), at most `limit`. */
MUST_CHECK enum err_code store_waits_on(struct store *s, int64_t target, int64_t above_waiter,
                                        size_t limit, store_wait_fn *on_wait, void *ctx,
                                        struct err *err);

/* The lowest level of the signal that anybody waits for; 0: nobody does. */
MUST_CHECK enum err_code store_waits_least(struct store *s, int64_t signal, int64_t *ret_level,
                                           struct err *err);

/* Those on one step of a target, in the order of (waiter, seq), at most `limit`. */
MUST_CHECK enum err_code store_waits_on_step(struct store *s, int64_t target, int step,
                                             size_t limit, store_wait_fn *on_wait, void *ctx,
                                             struct err *err);

/* Those of one waiter, in order, at most `limit`. */
MUST_CHECK enum err_code store_waits_of(struct store *s, int64_t waiter, size_t limit,
                                        store_wait_fn *on_wait, void *ctx, struct err *err);

/* Holds those of the jobs, whose ids grow, that nobody else holds, until the transaction ends.  ret_busy[i]: another
 * server holds it. */
MUST_CHECK enum err_code store_waiters_hold(struct store *s, const int64_t *ids, size_t n,
                                            bool *ret_busy, struct arena *arena, struct err *err);

/* How many of a waiter's are on jobs, and how many on signals. */
MUST_CHECK enum err_code store_waits_count(struct store *s, int64_t waiter, int64_t *ret_jobs,
                                           int64_t *ret_signals, struct err *err);
MUST_CHECK enum err_code store_wait_remove(struct store *s, int64_t waiter, int64_t seq,
                                           struct err *err);

/* All of a waiter's. */
MUST_CHECK enum err_code store_waits_forget(struct store *s, int64_t waiter, struct err *err);

/* How many jobs wait for the target. */
MUST_CHECK enum err_code store_waiters_count(struct store *s, int64_t target, int64_t *ret_n,
                                             struct err *err);

/* What stands in the store of each of `ids`, which grow: its state, JOB_NONE when it is not there.  The living are
 * held until the transaction ends, and marked as awaited. */
MUST_CHECK enum err_code store_jobs_await(struct store *s, const int64_t *ids, size_t n,
                                          enum job_state *ret_states, struct arena *arena,
                                          struct err *err);

/* ---- releases: targets whose waits are still to be looked at ---- */

struct stored_release {
    int64_t target;
    int state; /* enum job_state it ended in, or what else there is to be told: engine/after.h */
    int64_t cursor; /* waiters up to here were looked at */
};

/* Adds it, or begins it again. */
MUST_CHECK enum err_code store_release_put(struct store *s, const struct stored_release *r,
                                           struct err *err);
MUST_CHECK enum err_code store_release_remove(struct store *s, int64_t target, struct err *err);

/* ret->target 0: there is none. */
MUST_CHECK enum err_code store_release_find(struct store *s, int64_t target,
                                            struct stored_release *ret, struct err *err);

/* Whether there is any, also one that another server holds. */
MUST_CHECK enum err_code store_release_any(struct store *s, bool *ret_any, struct err *err);

/* The first one above a target; shared stores: that no other server is at.  ret->target 0: there is none. */
MUST_CHECK enum err_code store_release_next(struct store *s, int64_t above,
                                            struct stored_release *ret, struct err *err);

/* ---- signals ---- */

struct stored_signal {
    int64_t id;
    struct slice name;
    int64_t count;
    int64_t changed_at;
    int64_t waiters; /* filled by the list only */
};

/* ret->id 0: it was never raised nor waited for. */
MUST_CHECK enum err_code store_signal_find(struct store *s, struct slice name, struct arena *arena,
                                           struct stored_signal *ret, struct err *err);
MUST_CHECK enum err_code store_signal_load(struct store *s, int64_t id, struct arena *arena,
                                           struct stored_signal *ret, struct err *err);

/* As store_signal_find; it is held until the transaction ends. */
MUST_CHECK enum err_code store_signal_hold(struct store *s, struct slice name, struct arena *arena,
                                           struct stored_signal *ret, struct err *err);

/* Holds signals, whose ids grow, and reads their levels.  -1: another server holds it; 0: not there. */
MUST_CHECK enum err_code store_signals_hold(struct store *s, const int64_t *ids, size_t n,
                                            int64_t *ret_levels, struct arena *arena,
                                            struct err *err);

/* Adds it, or writes count and changed_at. */
MUST_CHECK enum err_code store_signal_put(struct store *s, const struct stored_signal *signal,
                                          struct err *err);
MUST_CHECK enum err_code store_signal_remove(struct store *s, int64_t id, struct err *err);

typedef void store_signal_fn(void *ctx, const struct stored_signal *signal);

/* By name, above `above`, at most `limit`, with how many jobs wait for each. */
MUST_CHECK enum err_code store_signals_list(struct store *s, struct slice above, size_t limit,
                                            store_signal_fn *on_signal, void *ctx, struct err *err);

/* ---- joins ---- */

/* ---- what was cancelled by an end ---- */

/* The job `waiter` was cancelled because of how `target` ended. */
MUST_CHECK enum err_code store_undone_put(struct store *s, int64_t waiter, int64_t target,
                                          struct err *err);
MUST_CHECK enum err_code store_undone_remove(struct store *s, int64_t waiter, struct err *err);

/* Those cancelled because of `target`, above a waiter, at most `limit`; *ret_n of them. */
MUST_CHECK enum err_code store_undone_by(struct store *s, int64_t target, int64_t above,
                                         size_t limit, int64_t *ret_waiters, size_t *ret_n,
                                         struct err *err);

/* A job is run again, and what it had cancelled above `cursor` is still to be brought back. */
struct stored_revival {
    int64_t target; /* 0: none */
    int64_t cursor;
};

MUST_CHECK enum err_code store_revival_put(struct store *s, const struct stored_revival *r,
                                           struct err *err);
MUST_CHECK enum err_code store_revival_remove(struct store *s, int64_t target, struct err *err);

/* One that no other server is at. */
MUST_CHECK enum err_code store_revival_next(struct store *s, struct stored_revival *ret,
                                            struct err *err);

struct stored_join {
    int64_t id;
    struct slice name;
    struct slice definition; /* canonical JSON, core/join_def.h */
    int64_t fired;           /* how often */
    int64_t fired_at;
};

/* ret->id 0: there is none. */
MUST_CHECK enum err_code store_join_find(struct store *s, struct slice name, struct arena *arena,
                                         struct stored_join *ret, struct err *err);
MUST_CHECK enum err_code store_join_put(struct store *s, const struct stored_join *join,
                                        struct err *err);

/* It has fired so often since. */
MUST_CHECK enum err_code store_join_fired(struct store *s, int64_t id, int64_t times,
                                          int64_t fired_at, struct err *err);

/* Holds one key of it, or the join with all its keys, until the transaction ends; nothing on an embedded store. */
MUST_CHECK enum err_code store_join_hold_key(struct store *s, int64_t id, struct slice key,
                                             struct err *err);
MUST_CHECK enum err_code store_join_hold(struct store *s, int64_t id, struct err *err);

/* With all that has arrived. */
MUST_CHECK enum err_code store_join_remove(struct store *s, int64_t id, struct err *err);

typedef void store_join_fn(void *ctx, const struct stored_join *join);

MUST_CHECK enum err_code store_joins_list(struct store *s, struct slice above, size_t limit,
                                          store_join_fn *on_join, void *ctx, struct err *err);

/* What has met under one key since the join fired last. */
struct stored_arrivals {
    int64_t join;
    struct slice key;
    int64_t count;
    int64_t first_at;
    const int64_t *jobs; /* who arrived, the first so many of them */
    size_t n_jobs;
};

/* ret->count 0: nothing has. */
MUST_CHECK enum err_code store_arrivals_find(struct store *s, int64_t join, struct slice key,
                                             struct arena *arena, struct stored_arrivals *ret,
                                             struct err *err);
MUST_CHECK enum err_code store_arrivals_put(struct store *s, const struct stored_arrivals *arrivals,
                                            struct err *err);
MUST_CHECK enum err_code store_arrivals_remove(struct store *s, int64_t join, struct slice key,
                                               struct err *err);

typedef void store_arrivals_fn(void *ctx, const struct stored_arrivals *arrivals);

/* By key, above `above` (data NULL: from the first on, which may be empty), at most `limit`. */
MUST_CHECK enum err_code store_arrivals_list(struct store *s, int64_t join, struct slice above,
                                             size_t limit, store_arrivals_fn *on_arrivals,
                                             void *ctx, struct err *err);

/* How many keys of a join are under way. */
MUST_CHECK enum err_code store_arrivals_count(struct store *s, int64_t join, int64_t *ret_keys,
                                              struct err *err);
