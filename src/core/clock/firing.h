/*
 * Firings: which nominal times of a schedule fire now, which were missed, and when to look again.
 *
 * A nominal time is due after its jitter.  Times fire in their order, each once.  Of those that
 * are due at once the latest fires, or with catch_up_all each, if it is late by no more than
 * catch_up, and by no more than FIRING_GRACE_US in any case: a server that is busy or was just
 * restarted misses nothing.  All others were missed.
 *
 * A clock that was set back makes nothing due again: what is settled stays so.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/slice.h"

struct schedule_def;
struct zone;

#define FIRING_GRACE_US US_PER_MIN

enum { FIRINGS_MAX = 50 }; /* in one plan */

/* Nominal times in a row that do not fire. */
struct firing_gap {
    int64_t first_at, last_at;
    int64_t count; /* 0: none; SCHEDULE_COUNT_MAX of a cron: at least this many */
};

struct firing_plan {
    int64_t fires[FIRINGS_MAX]; /* nominal times, in order */
    size_t n_fires;
    struct firing_gap missed; /* before the first that fires */
    int64_t last_at;          /* what is settled once the plan is carried out */
    int64_t next_at;          /* when to look again; TIME_NEVER: never */
};

/* `last_at`: all nominal times up to it are settled. */
struct firing_plan firing_plan(const struct schedule_def *def, const struct zone *z,
                               struct slice name, int64_t last_at, int64_t now_at);

/* The nominal times after `after` and not after `until`, for instance while it was paused. */
struct firing_gap firing_gap(const struct schedule_def *def, const struct zone *z, int64_t after,
                             int64_t until);

/* When the first nominal time after `last_at` is due, with its jitter. */
int64_t firing_next_at(const struct schedule_def *def, const struct zone *z, struct slice name,
                       int64_t last_at);
