/* SPDX-License-Identifier: MIT */
#include "core/time/cron.h"

#include "base/civil.h"
#include "base/clock.h"
#include "core/time/zone.h"

enum { CYCLE_MONTHS = 400 * 12, LAST_YEAR = 9999 };

/* The lowest value that matches, from `from` on; -1 when there is none. */
static int match_from(uint64_t bits, int from)
{
    uint64_t rest = from > 63 ? 0 : bits >> from << from;

    return rest == 0 ? -1 : __builtin_ctzll(rest);
}

static bool date_matches(const struct cron *c, int64_t days, int day_of_month)
{
    bool day = (c->days >> day_of_month & 1) != 0;
    bool weekday = (c->weekdays >> civil_weekday(days) & 1) != 0;

    return c->any_day || c->any_weekday ? day && weekday : day || weekday;
}

/* The first date that matches, from `days` to `last`; INT64_MAX when there is none. */
static int64_t next_date(const struct cron *c, int64_t days, int64_t last)
{
    struct civil date = civil_from_days(days);

    for (int i = 0; i <= CYCLE_MONTHS && days <= last && date.year <= LAST_YEAR; i++) {
        int month_days = civil_month_days(date.year, date.month);

        if ((c->months >> date.month & 1) != 0)
            for (int d = date.day; d <= month_days && days + d - date.day <= last; d++)
                if (date_matches(c, days + d - date.day, d))
                    return days + d - date.day;
        days += month_days - date.day + 1;
        date.year += date.month == 12;
        date.month = date.month % 12 + 1;
        date.day = 1;
    }
    return INT64_MAX;
}

static int64_t time_of_day(int hour, int minute)
{
    return hour * US_PER_HOUR + minute * US_PER_MIN;
}

/* The first time of that date whose instant is after `after`; TIME_NEVER when there is none.  Hours
 * that are over are passed by their last minute: later local times have no earlier instants. */
static int64_t next_on_date(const struct cron *c, const struct zone *z, int64_t date, int64_t after)
{
    int64_t midnight = date * US_PER_DAY;

    for (int h = match_from(c->hours, 0); h >= 0; h = match_from(c->hours, h + 1)) {
        if (zone_instant(z, midnight + time_of_day(h, 59)) <= after)
            continue;
        for (int m = match_from(c->minutes, 0); m >= 0; m = match_from(c->minutes, m + 1)) {
            int64_t fires_at = zone_instant(z, midnight + time_of_day(h, m));

            if (fires_at > after)
                return fires_at;
        }
    }
    return TIME_NEVER;
}

/* By the local times of each date, from two dates before: clocks may have been moved by a day. */
static int64_t next_by_clock(const struct cron *c, const struct zone *z, int64_t after)
{
    int64_t date = floor_div(zone_local(z, after), US_PER_DAY) - 2;

    while ((date = next_date(c, date, INT64_MAX)) != INT64_MAX) {
        int64_t fires_at = next_on_date(c, z, date, after);

        if (fires_at != TIME_NEVER)
            return fires_at;
        date++;
    }
    return TIME_NEVER;
}

/* The first local minute that matches, from `local` to before `end`; TIME_NEVER when there is
 * none. */
static int64_t next_minute(const struct cron *c, int64_t local, int64_t end)
{
    int64_t minute = floor_div(local + US_PER_MIN - 1, US_PER_MIN);
    int64_t date = floor_div(minute, 24 * 60);
    int64_t matching = next_date(c, date, floor_div(end - 1, US_PER_DAY));

    if (matching == INT64_MAX)
        return TIME_NEVER;
    if (matching > date)
        return matching * US_PER_DAY + match_from(c->minutes, 0) * US_PER_MIN;
    int64_t hour = floor_div(minute, 60);
    int m = match_from(c->minutes, (int)(minute - hour * 60));

    if (m >= 0)
        return hour * US_PER_HOUR + m * US_PER_MIN;
    if (hour % 24 == 23)
        return next_minute(c, (date + 1) * US_PER_DAY, end);
    return (hour + 1) * US_PER_HOUR + match_from(c->minutes, 0) * US_PER_MIN;
}

/* By real time: stretch after stretch of one offset. */
static int64_t next_by_real_time(const struct cron *c, const struct zone *z, int64_t after)
{
    int64_t from = after + 1;

    while (from != TIME_NEVER) {
        int64_t until = zone_next_change(z, from);
        int64_t offset = zone_offset_us(z, from);
        int64_t end = until == TIME_NEVER ? TIME_NEVER : until + offset;
        int64_t local = next_minute(c, from + offset, end);

        if (local < end)
            return local - offset;
        from = until;
    }
    return TIME_NEVER;
}

int64_t cron_next(const struct cron *c, const struct zone *z, int64_t after)
{
    return c->real_time ? next_by_real_time(c, z, after) : next_by_clock(c, z, after);
}
