/*
 * The clock that ids are made by: the wall clock, as far as it can be believed.
 *
 * A clock that is wrong for an hour must not leave its mark in ids for decades: ids never fall
 * behind those that were handed out, so one made in 2090 would pull all later ones there.
 *  Therefore
 *
 *   - while a server runs, a clock that is ahead of what was seen last, and of what the steady
 *     clock has counted
 *     since, by more than ID_LEAP_US is not believed: ids go on by the steady clock until it comes
 *     back;
 *   - at start there is nothing but the store's mark to compare with: see id_start_judge;
 *   - a clock that is behind is no problem: ids go on from the last one.
 *
 * All of it is pure: clocks are parameters.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

#define ID_LEAP_US (366 * US_PER_DAY)

struct id_clock {
    int64_t seen_at;   /* the latest instant that was believed */
    int64_t steady_at; /* when that was, by the steady clock */
};

void id_clock_init(struct id_clock *c, int64_t seen_at, int64_t steady_at);

/* The instant to make ids by. */
int64_t id_clock_read(struct id_clock *c, int64_t wall_at, int64_t steady_at);

/* E_UNAVAILABLE: ids cannot tell that instant; it is before 2024 or in 2093 and later. */
MUST_CHECK enum err_code id_clock_check(int64_t wall_at, struct err *err);

enum id_start {
    ID_START_ON,    /* ids go on above the mark */
    ID_START_AHEAD, /* the clock is more than ID_LEAP_US ahead of the mark */
    ID_START_BACK,  /* the mark is more than ID_LEAP_US ahead of the clock */
};

/* What the clock and the store's mark say of each other; which of the two is wrong only people
 * know.  A store without a mark has 0, or, made before marks existed, an id of 2024-01-01: there a
 * clock is taken to be wrong that is more than 20 years ahead of when this was written. */
enum id_start id_start_judge(int64_t mark, int64_t wall_at);
