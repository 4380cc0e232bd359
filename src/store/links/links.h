/*
 * Links between jobs: waits, signals, joins.  All writes run inside the caller's transaction.
 *
 * On a shared store a server locks the waiter, signal or key of a join that it decides about:
 * otherwise two servers could decide at the same time, and each would miss the other's change.
 * Waiters and signals that another server has locked are skipped, not waited for: that server may
 * be slow.
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
#include "core/route/routing.h"

struct store;

/* ---- waits: one row for each condition that is not met ---- */

struct stored_wait {
    int64_t waiter; /* the job that waits */
    int64_t seq;    /* index among its conditions */
    enum after_kind kind;
    int64_t target; /* id of the job or the signal; ids are unique over both */
    int step;       /* JOB: 0 for the job itself */
    enum after_on on;
    int64_t count; /* SIGNAL */
    bool take;
};

typedef void store_wait_fn(void *ctx, const struct stored_wait *wait);

MUST_CHECK enum err_code store_waits_add(struct store *s, const struct stored_wait *waits, size_t n,
                                         struct arena *arena, struct err *err);

/* Waits on a target, of waiters above a given one, by (waiter, seq); at most `limit`. */
MUST_CHECK enum err_code store_waits_on(struct store *s, int64_t target, int64_t above_waiter,
                                        size_t limit, store_wait_fn *on_wait, void *ctx,
                                        struct err *err);

/* The lowest level of the signal that a job waits for; 0: no job waits. */
MUST_CHECK enum err_code store_waits_least(struct store *s, int64_t signal, int64_t *ret_level,
                                           struct err *err);

/* Waits on one step of a target, by (waiter, seq); at most `limit`. */
MUST_CHECK enum err_code store_waits_on_step(struct store *s, int64_t target, int step,
                                             size_t limit, store_wait_fn *on_wait, void *ctx,
                                             struct err *err);

/* Waits of one job, in order; at most `limit`. */
MUST_CHECK enum err_code store_waits_of(struct store *s, int64_t waiter, size_t limit,
                                        store_wait_fn *on_wait, void *ctx, struct err *err);

/* Locks the jobs, whose ids are sorted, for the transaction.  ret_busy[i]: another server has
 * locked it. */
MUST_CHECK enum err_code store_waiters_hold(struct store *s, const int64_t *ids, size_t n,
                                            bool *ret_busy, struct arena *arena, struct err *err);

MUST_CHECK enum err_code store_wait_remove(struct store *s, int64_t waiter, int64_t seq,
                                           struct err *err);

/* Removes all waits of a job. */
MUST_CHECK enum err_code store_waits_forget(struct store *s, int64_t waiter, struct err *err);

/* Number of jobs that wait for the target. */
MUST_CHECK enum err_code store_waiters_count(struct store *s, int64_t target, int64_t *ret_n,
                                             struct err *err);

/* The state of each job in `ids`, which are sorted; JOB_NONE: no such job.  Live jobs are locked
 * for the transaction and marked as awaited. */
MUST_CHECK enum err_code store_jobs_await(struct store *s, const int64_t *ids, size_t n,
                                          enum job_state *ret_states, struct arena *arena,
                                          struct err *err);

/* ---- releases: targets whose waits must still be checked ---- */

struct stored_release {
    int64_t target;
    int state;      /* enum job_state it ended in, or another event: engine/followups/after.h */
    int64_t cursor; /* waiters up to this id are done */
};

/* Adds it, or starts it again. */
MUST_CHECK enum err_code store_release_put(struct store *s, const struct stored_release *r,
                                           struct err *err);
MUST_CHECK enum err_code store_release_remove(struct store *s, int64_t target, struct err *err);

/* ret->target 0: none. */
MUST_CHECK enum err_code store_release_find(struct store *s, int64_t target,
                                            struct stored_release *ret, struct err *err);

/* Whether there is any, including those that another server has locked. */
MUST_CHECK enum err_code store_release_any(struct store *s, bool *ret_any, struct err *err);

/* The first one above a target that no other server has locked.  ret->target 0: none. */
MUST_CHECK enum err_code store_release_next(struct store *s, int64_t above,
                                            struct stored_release *ret, struct err *err);

/* ---- signals ---- */

struct stored_signal {
    int64_t id;
    struct slice name;
    int64_t count;
    int64_t changed_at;
    int64_t waiters; /* filled in by store_signals_list only */
};

/* ret->id 0: it was never raised or waited for. */
MUST_CHECK enum err_code store_signal_find(struct store *s, struct slice name, struct arena *arena,
                                           struct stored_signal *ret, struct err *err);
MUST_CHECK enum err_code store_signal_load(struct store *s, int64_t id, struct arena *arena,
                                           struct stored_signal *ret, struct err *err);

/* As store_signal_find; locks it for the transaction. */
MUST_CHECK enum err_code store_signal_hold(struct store *s, struct slice name, struct arena *arena,
                                           struct stored_signal *ret, struct err *err);

/* Locks signals, whose ids are sorted, and reads their levels.  -1: locked by another server; 0: no
 * such signal. */
MUST_CHECK enum err_code store_signals_hold(struct store *s, const int64_t *ids, size_t n,
                                            int64_t *ret_levels, struct arena *arena,
                                            struct err *err);

/* Adds it, or updates count and changed_at. */
MUST_CHECK enum err_code store_signal_put(struct store *s, const struct stored_signal *signal,
                                          struct err *err);
MUST_CHECK enum err_code store_signal_remove(struct store *s, int64_t id, struct err *err);

typedef void store_signal_fn(void *ctx, const struct stored_signal *signal);

/* By name, after `above`, at most `limit`, with the number of jobs that wait for each. */
MUST_CHECK enum err_code store_signals_list(struct store *s, struct slice above, size_t limit,
                                            store_signal_fn *on_signal, void *ctx, struct err *err);

/* ---- jobs cancelled by the end of another ---- */

/* The job `waiter` was cancelled because of how `target` ended. */
MUST_CHECK enum err_code store_undone_put(struct store *s, int64_t waiter, int64_t target,
                                          struct err *err);
MUST_CHECK enum err_code store_undone_remove(struct store *s, int64_t waiter, struct err *err);

/* Jobs cancelled because of `target`, above a given id; at most `limit`. */
MUST_CHECK enum err_code store_undone_by(struct store *s, int64_t target, int64_t above,
                                         size_t limit, int64_t *ret_waiters, size_t *ret_n,
                                         struct err *err);

/* A job is run again: jobs above `cursor` that its end had cancelled must be brought back. */
struct stored_revival {
    int64_t target; /* 0: none */
    int64_t cursor;
};

MUST_CHECK enum err_code store_revival_put(struct store *s, const struct stored_revival *r,
                                           struct err *err);
MUST_CHECK enum err_code store_revival_remove(struct store *s, int64_t target, struct err *err);

/* One that no other server has locked. */
MUST_CHECK enum err_code store_revival_next(struct store *s, struct stored_revival *ret,
                                            struct err *err);

/* ---- joins ---- */

struct stored_join {
    int64_t id;
    struct slice name;
    struct slice definition; /* canonical JSON: core/route/join_def.h */
    int64_t fired;           /* number of times */
    int64_t fired_at;
};

/* ret->id 0: none. */
MUST_CHECK enum err_code store_join_find(struct store *s, struct slice name, struct arena *arena,
                                         struct stored_join *ret, struct err *err);
MUST_CHECK enum err_code store_join_put(struct store *s, const struct stored_join *join,
                                        struct err *err);

/* Adds `times` to the number of times it has fired. */
MUST_CHECK enum err_code store_join_fired(struct store *s, int64_t id, int64_t times,
                                          int64_t fired_at, struct err *err);

/* Locks one key, or the join with all its keys, for the transaction; no-ops on an embedded store.
 */
MUST_CHECK enum err_code store_join_hold_key(struct store *s, int64_t id, struct slice key,
                                             struct err *err);
MUST_CHECK enum err_code store_join_hold(struct store *s, int64_t id, struct err *err);

/* Removes it with all arrivals. */
MUST_CHECK enum err_code store_join_remove(struct store *s, int64_t id, struct err *err);

typedef void store_join_fn(void *ctx, const struct stored_join *join);

MUST_CHECK enum err_code store_joins_list(struct store *s, struct slice above, size_t limit,
                                          store_join_fn *on_join, void *ctx, struct err *err);

/* The arrivals under one key since the join fired last. */
struct stored_arrivals {
    int64_t join;
    struct slice key;
    int64_t count;
    int64_t first_at;
    const int64_t *jobs; /* the first jobs that arrived */
    size_t n_jobs;
};

/* ret->count 0: none. */
MUST_CHECK enum err_code store_arrivals_find(struct store *s, int64_t join, struct slice key,
                                             struct arena *arena, struct stored_arrivals *ret,
                                             struct err *err);
MUST_CHECK enum err_code store_arrivals_put(struct store *s, const struct stored_arrivals *arrivals,
                                            struct err *err);
MUST_CHECK enum err_code store_arrivals_remove(struct store *s, int64_t join, struct slice key,
                                               struct err *err);

typedef void store_arrivals_fn(void *ctx, const struct stored_arrivals *arrivals);

/* By key, after `above` (data NULL: from the first, which may be empty); at most `limit`. */
MUST_CHECK enum err_code store_arrivals_list(struct store *s, int64_t join, struct slice above,
                                             size_t limit, store_arrivals_fn *on_arrivals,
                                             void *ctx, struct err *err);

/* How many keys of a join are under way. */
MUST_CHECK enum err_code store_arrivals_count(struct store *s, int64_t join, int64_t *ret_keys,
                                              struct err *err);
