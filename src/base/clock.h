/*
 * Time: the only place that reads a clock, and the text forms of instants and lengths.
 *
 * Instants (…_at) are microseconds since 1970 UTC, lengths (…_us) are microseconds.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

#define US_PER_MS INT64_C(1000)
#define US_PER_S INT64_C(1000000)
#define US_PER_MIN (60 * US_PER_S)
#define US_PER_HOUR (60 * US_PER_MIN)
#define US_PER_DAY (24 * US_PER_HOUR)

/* "No instant": later than all others. */
#define TIME_NEVER INT64_MAX

#define TIME_TEXT_SIZE 28 /* 2026-11-15T21:30:00.000000Z and its NUL */
#define DURATION_TEXT_SIZE 32

/* Both clocks at one instant.  Calendars, due times and ids go by the wall; leases and waits go by
 * the steady clock, which reads like the wall did when the process started and never jumps. */
struct now {
    int64_t wall_at;
    int64_t steady_at;
    int64_t asleep_us; /* how long the machine was suspended since its start; not in steady_at */
};

/* By how much the wall clock was set between two instants: forward if above 0. */
static inline int64_t clock_step_us(struct now before, struct now now)
{
    return (now.wall_at - before.wall_at) - (now.steady_at - before.steady_at) -
           (now.asleep_us - before.asleep_us);
}

int64_t clock_wall_us(void);
int64_t clock_mono_us(void);
int64_t clock_boot_us(void); /* since the machine was started; /proc counts in it */
struct now clock_now(void);

/* RFC 3339 in UTC; fractions of a second only where there are any (3 or 6 digits).  An instant
 * outside 1970 to 9999 is shown as the nearest one inside. */
const char *time_format(int64_t at, char text[static TIME_TEXT_SIZE]);

/* RFC 3339 with any offset, from 1970 to the end of 9999 in UTC; finer than a microsecond is cut
 * off. */
MUST_CHECK enum err_code time_parse(struct slice text, int64_t *ret_at, struct err *err);

/* `500ms 10s 5m 2h 30d`, fractions allowed, or a plain number of seconds.  0 to 10,000 days. */
MUST_CHECK enum err_code duration_parse(struct slice text, int64_t *ret_us, struct err *err);

/* The same from a number of seconds. */
MUST_CHECK enum err_code duration_from_seconds(double seconds, int64_t *ret_us, struct err *err);

/* The shortest of those forms: 90s, 5m, 2h, 500ms.  Exact: parsing it gives the same length. */
const char *duration_format(int64_t us, char text[static DURATION_TEXT_SIZE]);
