/* SPDX-License-Identifier: MIT */
#include "base/civil.h"

#include <stdbool.h>

enum { ERA_DAYS = 146097, DAYS_TO_1970 = 719468 }; /* 400 years; from 0000-03-01 */

/* Years begin in March, so that leap days come last. */
int64_t civil_days(struct civil date)
{
    int64_t y = date.year - (date.month <= 2);
    int64_t era = floor_div(y, 400);
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;

    return era * ERA_DAYS + doe - DAYS_TO_1970;
}

struct civil civil_from_days(int64_t days)
{
    int64_t since_0000 = days + DAYS_TO_1970;
    int64_t era = floor_div(since_0000, ERA_DAYS);
    int64_t doe = since_0000 - era * ERA_DAYS;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t march_based = (5 * doy + 2) / 153;
    int month = (int)(march_based < 10 ? march_based + 3 : march_based - 9);

    return (struct civil){.year = era * 400 + yoe + (month <= 2),
                          .month = month,
                          .day = (int)(doy - (153 * march_based + 2) / 5 + 1)};
}

int civil_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return month == 2 && leap ? 29 : days[month - 1];
}

int civil_weekday(int64_t days)
{
    int64_t since_sunday = days + 4; /* 1970-01-01 was a Thursday */

    return (int)(since_sunday - floor_div(since_sunday, 7) * 7);
}
