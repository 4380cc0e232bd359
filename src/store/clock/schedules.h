/*
 * Schedules, and what became of their nominal times.  All writes run inside the caller's
 * transaction.
 *
 * On a shared store one server at a time decides about a schedule: it locks the row.  Rows that
 * another server has locked are skipped when due ones are looked for.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct store;

enum { FIRINGS_KEPT = 100 }; /* entries of one schedule */

struct stored_schedule {
    int64_t id; /* 0: none */
    struct slice name;
    struct slice definition; /* canonical JSON: core/clock/schedule_def.h */
    bool paused;
    int64_t last_at; /* nominal times up to this one are settled */
    int64_t next_at; /* when to look again; TIME_NEVER: never */
    int64_t job;     /* of the last firing; 0: none */
    int64_t entries; /* number of the last entry */
    int64_t fired, skipped, missed;
};

MUST_CHECK enum err_code store_schedule_find(struct store *s, struct slice name,
                                             struct arena *arena, struct stored_schedule *ret,
                                             struct err *err);

/* As store_schedule_find; locks it for the transaction. */
MUST_CHECK enum err_code store_schedule_hold(struct store *s, struct slice name,
                                             struct arena *arena, struct stored_schedule *ret,
                                             struct err *err);

typedef void store_schedule_fn(void *ctx, const struct stored_schedule *schedule);

/* By name, after `above`, at most `limit`. */
MUST_CHECK enum err_code store_schedules_list(struct store *s, struct slice above, size_t limit,
                                              store_schedule_fn *on_schedule, void *ctx,
                                              struct err *err);

/* Those whose next_at has come, the earliest first; locks them. */
MUST_CHECK enum err_code store_schedules_due(struct store *s, int64_t now_at, size_t limit,
                                             store_schedule_fn *on_schedule, void *ctx,
                                             struct err *err);

/* Those whose last_at is after the instant: the clock was set back.  Locks them. */
MUST_CHECK enum err_code store_schedules_ahead(struct store *s, int64_t now_at,
                                               store_schedule_fn *on_schedule, void *ctx,
                                               struct err *err);

/* The earliest next_at; TIME_NEVER: none. */
MUST_CHECK enum err_code store_schedules_next(struct store *s, int64_t *ret_at, struct err *err);

MUST_CHECK enum err_code store_schedule_add(struct store *s, const struct stored_schedule *schedule,
                                            struct err *err);

/* *ret_hit false: it is not as `was`, and nothing was changed. */
MUST_CHECK enum err_code store_schedule_update(struct store *s, const struct stored_schedule *was,
                                               const struct stored_schedule *now, bool *ret_hit,
                                               struct err *err);

/* Removes it with its entries. */
MUST_CHECK enum err_code store_schedule_remove(struct store *s, int64_t id, struct err *err);

/* ---- entries ---- */

enum firing_state { /* persisted */
                    FIRING_FIRED = 1,
                    FIRING_SKIPPED = 2, /* because of the last job, or of a pause */
                    FIRING_MISSED = 3,  /* nobody looked in time */
                    FIRING_REFUSED = 4, /* its job could not be made */
                    FIRING_STATE_COUNT
};

struct stored_firing {
    int64_t schedule, seq;
    enum firing_state state;
    int64_t nominal_at, until_at; /* the first and the last of `count` nominal times in a row */
    int64_t count;
    int64_t at; /* when that was decided */
    int64_t job;
    struct slice why;
};

/* Adds it and removes those that are no longer kept. */
MUST_CHECK enum err_code store_firing_add(struct store *s, const struct stored_firing *firing,
                                          struct err *err);

typedef void store_firing_fn(void *ctx, const struct stored_firing *firing);

/* The newest first. */
MUST_CHECK enum err_code store_firings_list(struct store *s, int64_t schedule, size_t limit,
                                            store_firing_fn *on_firing, void *ctx, struct err *err);

/* The first nominal time of a kept row of missed ones that goes on after the instant; 0: none. */
MUST_CHECK enum err_code store_firings_missed(struct store *s, int64_t schedule, int64_t at,
                                              int64_t *ret_first_at, struct err *err);

/* Whether a kept entry says that this nominal time has fired. */
MUST_CHECK enum err_code store_firings_fired(struct store *s, int64_t schedule, int64_t nominal_at,
                                             bool *ret_fired, struct err *err);
