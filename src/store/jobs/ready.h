/*
 * Waiting jobs: ready ones in claiming order, scheduled ones by the time they are due.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct store;

struct ready_ref {
    int priority;
    int64_t id;
};

/* The next ready jobs of a queue after `from`, in claiming order; refs has room for `limit`. */
MUST_CHECK enum err_code store_ready_scan(struct store *s, int64_t queue, struct ready_ref from,
                                          struct ready_ref *refs, size_t limit, size_t *ret_n,
                                          struct err *err);

/* Shared stores: locks the first ready jobs that no other server has locked, for this transaction.
 */
MUST_CHECK enum err_code store_ready_lock(struct store *s, int64_t queue, struct ready_ref *refs,
                                          size_t limit, size_t *ret_n, struct err *err);

/* Shared stores: caches small payloads of jobs that no other server can change, for the claims that
 * follow. */
MUST_CHECK enum err_code store_ready_fetch(struct store *s, const struct ready_ref *refs, size_t n,
                                           struct arena *arena, struct err *err);

/* Shared stores: whether other servers have locked further ready jobs. */
MUST_CHECK enum err_code store_ready_others(struct store *s, int64_t queue,
                                            const struct ready_ref *refs, size_t n,
                                            struct arena *arena, bool *ret_others, struct err *err);

/* Which of these jobs have their own command. */
MUST_CHECK enum err_code store_jobs_with_command(struct store *s, const int64_t *ids, size_t n,
                                                 bool *ret_has, struct arena *arena,
                                                 struct err *err);

/* Scheduled jobs that are due, oldest first. */
MUST_CHECK enum err_code store_due_scan(struct store *s, int64_t now_at, int64_t *ids, size_t limit,
                                        size_t *ret_n, struct err *err);

/* The wall clock was set by step_us: moves the due time of delayed jobs with it. */
MUST_CHECK enum err_code store_due_shift(struct store *s, int64_t step_us, struct err *err);

/* The wall clock may have been set back: limits the wait of delayed jobs to their delay from now.
 */
MUST_CHECK enum err_code store_due_bound(struct store *s, int64_t now_at, struct err *err);

/* When the next scheduled job is due; TIME_NEVER: none. */
MUST_CHECK enum err_code store_due_next(struct store *s, int64_t *ret_at, struct err *err);
