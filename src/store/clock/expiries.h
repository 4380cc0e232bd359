/*
 * Expiries: until when jobs must have started.  All writes run inside the caller's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct store;

struct stored_expiry {
    int64_t job;
    int64_t at;
};

/* Adds them, or sets their times. */
MUST_CHECK enum err_code store_expiries_add(struct store *s, const struct stored_expiry *items,
                                            size_t n, struct arena *arena, struct err *err);

/* Jobs that are to be judged, the earliest first; those that another server has locked are skipped,
 * the others locked. */
MUST_CHECK enum err_code store_expiries_due(struct store *s, int64_t now_at, int64_t *jobs,
                                            size_t limit, size_t *ret_n, struct err *err);

/* Has them judged again at that instant. */
MUST_CHECK enum err_code store_expiries_put_off(struct store *s, const int64_t *jobs, size_t n,
                                                int64_t look_at, struct arena *arena,
                                                struct err *err);

MUST_CHECK enum err_code store_expiries_remove(struct store *s, const int64_t *jobs, size_t n,
                                               struct arena *arena, struct err *err);

/* When the next one is to be judged; TIME_NEVER: none. */
MUST_CHECK enum err_code store_expiries_next(struct store *s, int64_t *ret_at, struct err *err);

/* The time of one job; 0: none. */
MUST_CHECK enum err_code store_expiry_of(struct store *s, int64_t job, int64_t *ret_at,
                                         struct err *err);

/* Which of these jobs are past their time; ret_passed has room for `n`. */
MUST_CHECK enum err_code store_expiries_passed(struct store *s, const int64_t *jobs, size_t n,
                                               int64_t now_at, bool *ret_passed,
                                               struct arena *arena, struct err *err);
