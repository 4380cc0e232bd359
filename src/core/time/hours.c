/* SPDX-License-Identifier: MIT */
#include "core/time/hours.h"

#include "base/civil.h"
#include "base/clock.h"
#include "core/time/zone.h"

#define YEAR_10000_AT (INT64_C(253402300800) * US_PER_S)

/* Ranges of which dates can be open at an instant: they last two dates at most, and clocks were
 * moved by a whole day. */
enum {
    DAYS_BACK = 3,
    DAYS_AHEAD = 2,
    QUIET_DAYS = 22, /* hours that do not open in three weeks without closed dates never do */
};

/* The first closed span that ends on that date or later; NULL when none does. */
static const struct hours_span *span_from(const struct hours *h, int64_t date)
{
    size_t low = 0;
    size_t high = h->n_closed;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (h->closed[middle].last < date)
            low = middle + 1;
        else
            high = middle;
    }
    return low < h->n_closed ? &h->closed[low] : NULL;
}

static int64_t midnight(const struct zone *z, int64_t date)
{
    return zone_instant(z, date * US_PER_DAY);
}

struct stretch {
    int64_t from_at, to_at;
};

/* The range that begins on that date, cut where a closed date begins.  Empty when it does not begin
 * there, or lies in a gap. */
static struct stretch stretch_of(const struct hours *h, const struct zone *z,
                                 const struct hours_range *r, int64_t date)
{
    const struct hours_span *closed = span_from(h, date);
    struct stretch s = {0, 0};

    if ((r->days >> civil_weekday(date) & 1) == 0 || (closed != NULL && closed->first <= date))
        return s;
    s.from_at = zone_instant(z, date * US_PER_DAY + r->from_min * US_PER_MIN);
    s.to_at = zone_instant(z, date * US_PER_DAY + r->to_min * US_PER_MIN);
    if (closed != NULL && closed->first == date + 1 && midnight(z, date + 1) < s.to_at)
        s.to_at = midnight(z, date + 1);
    return s;
}

static int64_t local_date(const struct zone *z, int64_t at)
{
    return floor_div(zone_local(z, at), US_PER_DAY);
}

/* The end of the stretch that is open at the instant and lasts longest, or 0. */
static int64_t open_until(const struct hours *h, const struct zone *z, int64_t at)
{
    int64_t today = local_date(z, at);
    int64_t until = 0;

    for (int64_t date = today - DAYS_BACK; date <= today + DAYS_AHEAD; date++)
        for (size_t i = 0; i < h->n_ranges; i++) {
            struct stretch s = stretch_of(h, z, &h->ranges[i], date);

            if (s.from_at <= at && at < s.to_at && s.to_at > until)
                until = s.to_at;
        }
    return until;
}

/* Open now: stretch after stretch, until one ends where no other is open.  Hours that cover the
 * week are open until the next closed date, which clocks that go back over midnight may have shown
 * already. */
static int64_t closes_at(const struct hours *h, const struct zone *z, int64_t at)
{
    if (h->whole_week) {
        const struct hours_span *closed = span_from(h, local_date(z, at));

        while (closed != NULL && midnight(z, closed->first) <= at)
            closed = span_from(h, closed->last + 1);
        return closed == NULL ? TIME_NEVER : midnight(z, closed->first);
    }
    int64_t until = at;

    for (int64_t next = at; next > 0; next = open_until(h, z, until))
        until = next;
    return until;
}

/* Closed now: the first stretch that begins after the instant. */
static int64_t opens_at(const struct hours *h, const struct zone *z, int64_t at)
{
    int64_t date = local_date(z, at) - DAYS_BACK;
    int64_t opens = TIME_NEVER;

    for (int quiet = 0; quiet < QUIET_DAYS && opens == TIME_NEVER; quiet++, date++) {
        const struct hours_span *closed = span_from(h, date);

        if (date >= YEAR_10000_AT / US_PER_DAY)
            break;
        if (closed != NULL && closed->first <= date) {
            date = closed->last;
            quiet = 0;
            continue;
        }
        for (size_t i = 0; i < h->n_ranges; i++) {
            struct stretch s = stretch_of(h, z, &h->ranges[i], date);

            if (s.from_at > at && s.to_at > s.from_at && s.from_at < opens)
                opens = s.from_at;
        }
    }
    return opens;
}

struct hours_state hours_at(const struct hours *h, const struct zone *z, int64_t at)
{
    struct hours_state state = {.open = open_until(h, z, at) > 0};

    state.until_at = state.open ? closes_at(h, z, at) : opens_at(h, z, at);
    if (state.until_at >= YEAR_10000_AT)
        state.until_at = TIME_NEVER;
    return state;
}
