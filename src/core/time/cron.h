/*
 * Cron: five fields (minute, hour, day of month, month, day of week), and when they match next.
 *
 * Fields have numbers, names, lists, ranges and steps as in Vixie cron.  If both days are given, a
 * date matches by either; a field that begins with `*` is not given.  Sunday is 0 and 7.
 *
 * A local time in a gap stands for the instant after it, one that comes twice for its first;
 * several that become one instant fire once.  But a cron whose hour is `*` goes by real time: it
 * fires at each instant whose local minute matches, so twice where that comes twice and not in a
 * gap.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

struct zone;

struct cron {
    uint64_t minutes; /* a bit for each value that matches */
    uint32_t hours, days, months, weekdays;
    bool any_day, any_weekday; /* the field begins with `*` */
    bool real_time;            /* the hour is `*` */
};

/* Five fields, or @hourly @daily @midnight @weekly @monthly @yearly @annually.  E_INVALID also for
 * what never fires, like 30 February. */
MUST_CHECK enum err_code cron_parse(struct slice text, struct cron *ret_cron, struct err *err);

/* The first instant after `after` (1970 to 9999) at which it fires; TIME_NEVER: not before the end
 * of 9999.  Looks at no more than 400 years of months. */
int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after);
