/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/civil.h"
#include "base/text/utf8.h"

enum { BYTES_SHOWN = 40 };

#define YEAR_10000_AT (INT64_C(253402300800) * US_PER_S)

static int64_t read_clock(clockid_t which)
{
    struct timespec ts;

    ASSERT(clock_gettime(which, &ts) == 0);
    return (int64_t)ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

int64_t clock_wall_us(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t clock_mono_us(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_boot_us(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

enum { READS_MAX = 10 };

/* A process that is stopped between the two readings would believe that the clock was set. */
struct now clock_now(void)
{
    static _Atomic int64_t offset_us;
    int64_t none = 0;
    int64_t mono;
    int64_t wall;
    int64_t boot;
    int reads = 0;

    do {
        mono = clock_mono_us();
        wall = clock_wall_us();
        boot = clock_boot_us();
    } while (clock_mono_us() - mono > US_PER_MS && ++reads < READS_MAX);
    atomic_compare_exchange_strong(&offset_us, &none, wall - mono);
    return (struct now){.wall_at = wall,
                        .steady_at = mono + atomic_load(&offset_us),
                        .asleep_us = boot - mono};
}

/* `count` digits and the character after them. */
static char *put(char *to, int value, int count, char after)
{
    for (int i = count - 1; i >= 0; i--) {
        to[i] = (char)('0' + value % 10);
        value /= 10;
    }
    to[count] = after;
    return to + count + 1;
}

const char *time_format(int64_t at, char text[static TIME_TEXT_SIZE])
{
    at = at < 0 ? 0 : at < YEAR_10000_AT ? at : YEAR_10000_AT - 1;
    struct civil date = civil_from_days(at / US_PER_DAY);
    int seconds = (int)(at % US_PER_DAY / US_PER_S);
    int fraction_us = (int)(at % US_PER_S);
    char *to = put(text, (int)date.year, 4, '-');

    to = put(to, date.month, 2, '-');
    to = put(to, date.day, 2, 'T');
    to = put(to, seconds / 3600, 2, ':');
    to = put(to, seconds / 60 % 60, 2, ':');
    to = put(to, seconds % 60, 2, fraction_us == 0 ? 'Z' : '.');
    if (fraction_us % 1000 != 0)
        to = put(to, fraction_us, 6, 'Z');
    else if (fraction_us != 0)
        to = put(to, fraction_us / 1000, 3, 'Z');
    *to = '\0';
    return text;
}

struct cursor {
    const char *at;
    const char *end;
};

static bool take_digits(struct cursor *c, int count, int *ret)
{
    int value = 0;

    for (int i = 0; i < count; i++) {
        if (c->at == c->end || *c->at < '0' || *c->at > '9')
            return false;
        value = value * 10 + (*c->at++ - '0');
    }
    *ret = value;
    return true;
}

static bool take_char(struct cursor *c, const char *any_of)
{
    if (c->at == c->end || *c->at == '\0' || strchr(any_of, *c->at) == NULL)
        return false;
    c->at++;
    return true;
}

/* Digits after the point; what is finer than a microsecond is cut off. */
static bool take_fraction(struct cursor *c, int64_t *ret_us)
{
    int64_t unit = US_PER_S / 10;
    int64_t us = 0;
    const char *first = c->at;

    while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
        us += (*c->at++ - '0') * unit;
        unit /= 10;
    }
    *ret_us = us;
    return c->at > first;
}

static bool take_offset(struct cursor *c, int64_t *ret_us)
{
    int hours;
    int minutes;

    *ret_us = 0;
    if (take_char(c, "Zz"))
        return true;
    if (c->at == c->end)
        return false;
    int64_t sign = *c->at == '-' ? -1 : 1;

    if (!take_char(c, "+-") || !take_digits(c, 2, &hours) || !take_char(c, ":") ||
        !take_digits(c, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    *ret_us = sign * (hours * US_PER_HOUR + minutes * US_PER_MIN);
    return true;
}

static bool take_date(struct cursor *c, int64_t *ret_us)
{
    int y, m, d;

    if (!take_digits(c, 4, &y) || !take_char(c, "-") || !take_digits(c, 2, &m) ||
        !take_char(c, "-") || !take_digits(c, 2, &d))
        return false;
    if (y < 1969 || m < 1 || m > 12 || d < 1 || d > civil_month_days(y, m))
        return false;
    *ret_us = civil_days((struct civil){y, m, d}) * US_PER_DAY;
    return true;
}

/* Second 60 is a leap second, the same instant as the next minute's first. */
static bool take_time_of_day(struct cursor *c, int64_t *ret_us)
{
    int h, m, s;
    int64_t fraction_us = 0;

    if (!take_digits(c, 2, &h) || !take_char(c, ":") || !take_digits(c, 2, &m) ||
        !take_char(c, ":") || !take_digits(c, 2, &s))
        return false;
    if (h > 23 || m > 59 || s > 60 || (take_char(c, ".") && !take_fraction(c, &fraction_us)))
        return false;
    *ret_us = h * US_PER_HOUR + m * US_PER_MIN + s * US_PER_S + fraction_us;
    return true;
}

enum err_code time_parse(struct slice text, int64_t *ret_at, struct err *err)
{
    struct cursor c = {text.data, slice_end(text)};
    int64_t day_us, time_us, offset_us;

    if (take_date(&c, &day_us) && take_char(&c, "Tt ") && take_time_of_day(&c, &time_us) &&
        take_offset(&c, &offset_us) && c.at == c.end) {
        int64_t at = day_us + time_us - offset_us;

        if (at >= 0 && at < YEAR_10000_AT) {
            *ret_at = at;
            return E_OK;
        }
    }
    struct slice shown = utf8_cut(text, BYTES_SHOWN);

    return err_set(err, E_INVALID, "'%.*s' is not a time like 2026-11-15T21:30:00Z",
                   (int)shown.size, shown.data == NULL ? "" : shown.data);
}

static const struct {
    const char *name;
    int64_t us;
} units[] = {
    {"d", US_PER_DAY}, {"h", US_PER_HOUR}, {"m", US_PER_MIN}, {"s", US_PER_S}, {"ms", US_PER_MS},
};

#define LONGEST_US (10000 * US_PER_DAY)

static enum err_code from_units(double count, int64_t unit_us, int64_t *ret_us, struct err *err)
{
    double us = count * (double)unit_us;

    if (!(us >= 0))
        return err_set(err, E_INVALID, "a length of time cannot be negative");
    if (us > (double)LONGEST_US)
        return err_set(err, E_INVALID, "a length of time is at most 10000d");
    *ret_us = llround(us);
    return E_OK;
}

enum err_code duration_from_seconds(double seconds, int64_t *ret_us, struct err *err)
{
    return from_units(seconds, US_PER_S, ret_us, err);
}

enum err_code duration_parse(struct slice text, int64_t *ret_us, struct err *err)
{
    char copy[32];
    char *rest;

    if (text.size == 0 || text.size >= sizeof(copy))
        goto malformed;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    if (strspn(copy, "0123456789.-") == 0)
        goto malformed;
    double count = strtod(copy, &rest);

    if (rest == copy || strpbrk(copy, "eExXnN") != NULL || strlen(copy) != text.size)
        goto malformed;
    if (*rest == '\0')
        return from_units(count, US_PER_S, ret_us, err);
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strcmp(rest, units[i].name) == 0)
            return from_units(count, units[i].us, ret_us, err);
malformed:
    text = utf8_cut(text, BYTES_SHOWN);
    return err_set(err, E_INVALID, "'%.*s' is not a length of time like 500ms, 10s, 5m, 2h or 30d",
                   (int)text.size, text.data == NULL ? "" : text.data);
}

/* A length finer than a millisecond: seconds, exactly, without zeros at the end. */
static void format_fine(int64_t us, char text[static DURATION_TEXT_SIZE])
{
    uint64_t size = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;
    int digits = 6;
    uint64_t fraction = size % (uint64_t)US_PER_S;

    while (fraction % 10 == 0) {
        fraction /= 10;
        digits--;
    }
    snprintf(text, DURATION_TEXT_SIZE, "%s%llu.%0*llus", us < 0 ? "-" : "",
             (unsigned long long)(size / (uint64_t)US_PER_S), digits, (unsigned long long)fraction);
}

const char *duration_format(int64_t us, char text[static DURATION_TEXT_SIZE])
{
    size_t i = us == 0 ? 3 : 0; /* 0s, not 0d */

    while (i < ARRAY_LEN(units) && us % units[i].us != 0)
        i++;
    if (i == ARRAY_LEN(units))
        format_fine(us, text);
    else
        snprintf(text, DURATION_TEXT_SIZE, "%lld%s", (long long)(us / units[i].us), units[i].name);
    return text;
}
