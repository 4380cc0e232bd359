/* SPDX-License-Identifier: MIT */
#include "core/time/zone.h"

#include <stdlib.h>

#include "base/civil.h"
#include "base/clock.h"
#include "base/compiler.h"

enum { DAY_S = 86400 };

#define LAST_S INT64_C(253402300799) /* the end of 9999 */
#define OFFSET_MAX_US (27 * US_PER_HOUR)

void zone_deinit(struct zone *z)
{
    free(z->changes);
    *z = ZONE_UTC;
}

/* ---- the rule ---- */

/* The day of that year, as days since 1970. */
static int64_t day_of_year(const struct zone_day *d, int64_t year)
{
    int64_t new_year = civil_days((struct civil){year, 1, 1});
    bool leap = civil_month_days(year, 2) == 29;

    switch (d->kind) {
    case ZONE_DAY_OF_YEAR: return new_year + d->day;
    case ZONE_DAY_NO_LEAP: return new_year + d->day - 1 + (leap && d->day > 59);
    case ZONE_DAY_OF_MONTH: break;
    }
    int64_t first = civil_days((struct civil){year, d->month, 1});
    int64_t day = (d->weekday - civil_weekday(first) + 7) % 7 + (d->week - 1) * 7;

    if (day >= civil_month_days(year, d->month))
        day -= 7;
    return first + day;
}

enum { RULE_CHANGES = 6 };

/* The changes of three years around an instant, by time.  Of two at once the later in the list
 * counts: a summer that ends as the next begins goes on. */
static void rule_changes(const struct zone_rule *r, int64_t at_s,
                         struct zone_change changes[static RULE_CHANGES])
{
    int64_t year = civil_from_days(floor_div(at_s + r->standard_s, DAY_S)).year;
    size_t n = 0;

    for (int64_t y = year - 1; y <= year + 1; y++) {
        struct zone_change begins = {
            day_of_year(&r->begins, y) * DAY_S + r->begins.time_s - r->standard_s, r->summer_s};
        struct zone_change ends = {day_of_year(&r->ends, y) * DAY_S + r->ends.time_s - r->summer_s,
                                   r->standard_s};
        bool north = begins.at_s < ends.at_s;

        changes[n++] = north ? begins : ends;
        changes[n++] = north ? ends : begins;
    }
}

static int32_t rule_offset(const struct zone_rule *r, int64_t at_s)
{
    struct zone_change changes[RULE_CHANGES];
    int32_t offset = r->standard_s;

    if (!r->has_summer)
        return offset;
    rule_changes(r, at_s, changes);
    for (size_t i = 0; i < RULE_CHANGES; i++)
        if (changes[i].at_s <= at_s)
            offset = changes[i].offset_s;
    return offset;
}

static int64_t rule_next(const struct zone_rule *r, int64_t at_s)
{
    struct zone_change changes[RULE_CHANGES];
    int64_t next = INT64_MAX;

    if (!r->has_summer)
        return next;
    rule_changes(r, at_s, changes);
    for (size_t i = 0; i < RULE_CHANGES; i++)
        if (changes[i].at_s > at_s && changes[i].at_s < next)
            next = changes[i].at_s;
    return next;
}

/* ---- table and rule ---- */

/* How many changes are at or before the instant. */
static size_t changes_until(const struct zone *z, int64_t at_s)
{
    size_t low = 0;
    size_t high = z->n_changes;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (z->changes[middle].at_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t zone_offset_us(const struct zone *z, int64_t at)
{
    int64_t at_s = floor_div(at, US_PER_S);
    size_t n = changes_until(z, at_s);

    if (n == z->n_changes && z->has_rule)
        return rule_offset(&z->rule, at_s) * US_PER_S;
    return (n == 0 ? z->first_s : z->changes[n - 1].offset_s) * US_PER_S;
}

int64_t zone_next_change(const struct zone *z, int64_t at)
{
    int64_t at_s = floor_div(at, US_PER_S);
    size_t n = changes_until(z, at_s);
    int64_t next = INT64_MAX;

    if (n < z->n_changes)
        next = z->changes[n].at_s;
    else if (z->has_rule)
        next = rule_next(&z->rule, at_s);
    return next > LAST_S ? TIME_NEVER : next * US_PER_S;
}

int64_t zone_local(const struct zone *z, int64_t at)
{
    return at + zone_offset_us(z, at);
}

/*
 * Stretches of one offset, from the earliest instant at which clocks could show that time to the
 * latest: the first in which they do, else the first that begins with a later time.
 */
int64_t zone_instant(const struct zone *z, int64_t local)
{
    int64_t from = local - OFFSET_MAX_US;
    int64_t after_gap = TIME_NEVER;

    while (from <= local + OFFSET_MAX_US) {
        int64_t until = zone_next_change(z, from);
        int64_t at = local - zone_offset_us(z, from);

        if (at >= from && at < until)
            return at;
        if (at < from && after_gap == TIME_NEVER)
            after_gap = from;
        from = until;
    }
    ASSERT(after_gap != TIME_NEVER);
    return after_gap;
}
