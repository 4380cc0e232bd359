/*
 * The proleptic Gregorian calendar: dates and the days since 1970-01-01.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

struct civil {
    int64_t year;
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
};

/* Days from 1970-01-01 to the date; negative before it. */
int64_t civil_days(struct civil date);

/* The date that many days after 1970-01-01. */
struct civil civil_from_days(int64_t days);

int civil_month_days(int64_t year, int month);

/* 0 is Sunday, 6 is Saturday. */
int civil_weekday(int64_t days);

/* Division that rounds down, for instants before 1970.  The divisor is above 0. */
static inline int64_t floor_div(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}
