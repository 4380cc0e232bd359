/*
 * Opening hours: when something is open, and when that changes next.
 *
 * A range belongs to the date that it begins on and may end on the next one.  A closed date drops
 * the ranges that begin on it, and cuts one that runs into it at its midnight.  Local times become
 * instants as core/time/zone.h says, so a night has 7, 8 or 9 hours where clocks change.
 *
 * Pure.  Filled by the hours_add functions, then hours_settle; only read after that.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

struct zone;

enum { HOURS_RANGES_MAX = 64, HOURS_CLOSED_MAX = 400 };

struct hours_range {
    int from_min, to_min; /* minutes of the date that it begins on; the end is above the start */
    unsigned days;        /* bit 0: Sunday */
};

/* Dates as days since 1970, both closed. */
struct hours_span {
    int64_t first, last;
};

struct hours {
    struct hours_range ranges[HOURS_RANGES_MAX];
    size_t n_ranges;
    struct hours_span closed[HOURS_CLOSED_MAX]; /* once settled: by date, with gaps between them */
    size_t n_closed;
    bool whole_week; /* once settled: open at any time of any date that is not closed */
};

struct hours_state {
    bool open;
    int64_t until_at; /* when that changes; TIME_NEVER: not before the end of 9999 */
};

/* "22:00-06:00 Mon-Fri", "00:00-24:00 Sat,Sun"; without days it is every day. */
MUST_CHECK enum err_code hours_add_open(struct hours *h, struct slice text, struct err *err);

/* "2026-12-24" or "2026-12-24..2026-12-26" */
MUST_CHECK enum err_code hours_add_closed(struct hours *h, struct slice text, struct err *err);

/* Whether ranges were given at all: without any, it is open except on closed dates. */
enum hours_open { HOURS_OPEN_ALWAYS, HOURS_OPEN_GIVEN };

/* Call once, after all were added.  E_INVALID when it never opens. */
MUST_CHECK enum err_code hours_settle(struct hours *h, enum hours_open open, struct err *err);

/* The state at an instant from 1970 to 9999.  Its cost does not grow with the time up to the
 * change, only with the number of ranges and closed spans. */
struct hours_state hours_at(const struct hours *h, const struct zone *z, int64_t at);
