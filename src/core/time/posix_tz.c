/* SPDX-License-Identifier: MIT */
#include "core/time/tzif.h"

enum {
    OFFSET_HOURS_MAX = 24,
    TIME_HOURS_MAX = 167, /* of version 3 of the files */
    HOUR_S = 3600,
};

struct cursor {
    const char *at;
    const char *end;
};

static bool take(struct cursor *c, char wanted)
{
    if (c->at == c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool take_number(struct cursor *c, int min, int max, int *ret)
{
    const char *first = c->at;
    int value = 0;

    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9' && c->at - first < 4; c->at++)
        value = value * 10 + (*c->at - '0');
    if (c->at == first || value < min || value > max)
        return false;
    *ret = value;
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* CET, or <+1245> for names with digits and signs. */
static bool take_name(struct cursor *c)
{
    bool quoted = take(c, '<');
    const char *first = c->at;

    while (c->at < c->end && (is_letter(*c->at) || (quoted && *c->at != '>')))
        c->at++;
    return c->at - first >= 3 && (!quoted || take(c, '>'));
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(struct cursor *c, int hours_max, int32_t *ret_s)
{
    int sign = take(c, '-') ? -1 : 1;
    int hours;
    int minutes = 0;
    int seconds = 0;

    if (sign > 0)
        (void)take(c, '+');
    if (!take_number(c, 0, hours_max, &hours) ||
        (take(c, ':') &&
         (!take_number(c, 0, 59, &minutes) || (take(c, ':') && !take_number(c, 0, 59, &seconds)))))
        return false;
    *ret_s = sign * (hours * HOUR_S + minutes * 60 + seconds);
    return true;
}

/* West of Greenwich is positive there. */
static bool take_offset(struct cursor *c, int32_t *ret_s)
{
    if (!take_time(c, OFFSET_HOURS_MAX, ret_s))
        return false;
    *ret_s = -*ret_s;
    return true;
}

/* ,M3.5.0/2  ,J60  ,59 */
static bool take_day(struct cursor *c, struct zone_day *ret)
{
    struct zone_day d = {.kind = ZONE_DAY_OF_YEAR, .time_s = 2 * HOUR_S};
    bool taken = take(c, ',');

    if (taken && take(c, 'M')) {
        d.kind = ZONE_DAY_OF_MONTH;
        taken = take_number(c, 1, 12, &d.month) && take(c, '.') && take_number(c, 1, 5, &d.week) &&
                take(c, '.') && take_number(c, 0, 6, &d.weekday);
    } else if (taken && take(c, 'J')) {
        d.kind = ZONE_DAY_NO_LEAP;
        taken = take_number(c, 1, 365, &d.day);
    } else if (taken) {
        taken = take_number(c, 0, 365, &d.day);
    }
    if (!taken || (take(c, '/') && !take_time(c, TIME_HOURS_MAX, &d.time_s)))
        return false;
    *ret = d;
    return true;
}

bool posix_tz_parse(struct slice text, struct zone_rule *ret_rule)
{
    struct cursor c = {text.data, slice_end(text)};
    struct zone_rule r = {.has_summer = false};

    if (!take_name(&c) || !take_offset(&c, &r.standard_s))
        return false;
    if (c.at < c.end) {
        r.has_summer = true;
        r.summer_s = r.standard_s + HOUR_S;
        if (!take_name(&c))
            return false;
        if (c.at < c.end && *c.at != ',' && !take_offset(&c, &r.summer_s))
            return false;
        if (!take_day(&c, &r.begins) || !take_day(&c, &r.ends))
            return false;
    }
    if (c.at != c.end)
        return false;
    *ret_rule = r;
    return true;
}
