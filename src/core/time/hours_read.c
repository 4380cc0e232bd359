/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/civil.h"
#include "core/object/quote.h"
#include "core/time/day_names.h"
#include "core/time/hours.h"

enum {
    DAY_MIN = 24 * 60,
    WEEK_MIN = 7 * DAY_MIN,
    ALL_DAYS = 0x7F,
};

/* The part before the first `stop`; *rest is what follows it, or NULL data when there is none. */
static struct slice split(struct slice text, const char *stop, struct slice *rest)
{
    const char *found = text.size == 0 ? NULL : memmem(text.data, text.size, stop, strlen(stop));

    *rest = slice_make(NULL, 0);
    if (found == NULL)
        return text;
    const char *after = found + strlen(stop);

    *rest = slice_make(after, (size_t)(slice_end(text) - after));
    return slice_make(text.data, (size_t)(found - text.data));
}

static bool two_digits(const char *at, int *ret)
{
    if (at[0] < '0' || at[0] > '9' || at[1] < '0' || at[1] > '9')
        return false;
    *ret = (at[0] - '0') * 10 + (at[1] - '0');
    return true;
}

/* ---- ranges ---- */

static enum err_code read_time(struct slice text, int *ret_min, struct err *err)
{
    struct quote quote;
    int hour;
    int minute;

    if (text.size != 5 || text.data[2] != ':' || !two_digits(text.data, &hour) ||
        !two_digits(text.data + 3, &minute))
        return err_set(err, E_INVALID, "%s is not a time like 06:00", quote_text(&quote, text));
    if (minute > 59 || hour * 60 + minute > DAY_MIN)
        return err_set(err, E_INVALID, "%s is not a time of day: they go from 00:00 to 24:00",
                       quote_text(&quote, text));
    *ret_min = hour * 60 + minute;
    return E_OK;
}

/* Fri-Mon goes over the end of the week. */
static enum err_code read_days(struct slice text, unsigned *ret_days, struct err *err)
{
    unsigned days = 0;

    while (text.data != NULL) {
        struct slice rest;
        struct slice last;
        struct slice first = split(split(text, ",", &rest), "-", &last);
        int from;
        int to;

        if (day_name_parse(first, &from, err) != E_OK)
            return err->code;
        to = from;
        if (last.data != NULL && day_name_parse(last, &to, err) != E_OK)
            return err->code;
        for (int day = from; day != to; day = (day + 1) % 7)
            days |= 1u << day;
        days |= 1u << to;
        text = rest;
    }
    *ret_days = days;
    return E_OK;
}

enum err_code hours_add_open(struct hours *h, struct slice text, struct err *err)
{
    struct hours_range r = {.days = ALL_DAYS};
    struct slice days;
    struct slice to;
    struct slice from = split(split(text, " ", &days), "-", &to);
    struct quote quote;

    if (h->n_ranges == HOURS_RANGES_MAX)
        return err_set(err, E_INVALID, "at most %d ranges are allowed", HOURS_RANGES_MAX);
    if (to.data == NULL)
        return err_set(err, E_INVALID, "%s is not a range like '22:00-06:00 Mon-Fri'",
                       quote_text(&quote, text));
    if (read_time(from, &r.from_min, err) != E_OK || read_time(to, &r.to_min, err) != E_OK)
        return err->code;
    if (r.from_min == DAY_MIN)
        return err_set(err, E_INVALID,
                       "a range cannot begin at 24:00; write 00:00 of the next day");
    if (r.from_min == r.to_min)
        return err_set(err, E_INVALID, "%s is empty; write 00:00-24:00 for the whole day",
                       quote_text(&quote, text));
    if (r.to_min < r.from_min)
        r.to_min += DAY_MIN;
    if (days.data != NULL && read_days(days, &r.days, err) != E_OK)
        return err->code;
    h->ranges[h->n_ranges++] = r;
    return E_OK;
}

/* ---- closed dates ---- */

static enum err_code read_date(struct slice text, int64_t *ret_days, struct err *err)
{
    struct quote quote;
    struct civil date;
    int century;
    int year;

    if (text.size != 10 || text.data[4] != '-' || text.data[7] != '-' ||
        !two_digits(text.data, &century) || !two_digits(text.data + 2, &year) ||
        !two_digits(text.data + 5, &date.month) || !two_digits(text.data + 8, &date.day))
        return err_set(err, E_INVALID, "%s is not a date like 2026-12-24",
                       quote_text(&quote, text));
    date.year = century * 100 + year;
    if (date.year < 1970)
        return err_set(err, E_INVALID, "the date %s is before 1970", quote_text(&quote, text));
    if (date.month < 1 || date.month > 12 || date.day < 1 ||
        date.day > civil_month_days(date.year, date.month))
        return err_set(err, E_INVALID, "the date %s does not exist", quote_text(&quote, text));
    *ret_days = civil_days(date);
    return E_OK;
}

enum err_code hours_add_closed(struct hours *h, struct slice text, struct err *err)
{
    struct slice last;
    struct slice first = split(text, "..", &last);
    struct hours_span span;
    struct quote quote;

    if (h->n_closed == HOURS_CLOSED_MAX)
        return err_set(err, E_INVALID, "at most %d closed dates are allowed", HOURS_CLOSED_MAX);
    if (read_date(first, &span.first, err) != E_OK)
        return err->code;
    span.last = span.first;
    if (last.data != NULL && read_date(last, &span.last, err) != E_OK)
        return err->code;
    if (span.last < span.first)
        return err_set(err, E_INVALID, "%s ends before it begins", quote_text(&quote, text));
    h->closed[h->n_closed++] = span;
    return E_OK;
}

/* ---- all together ---- */

static int by_first(const void *a, const void *b)
{
    const struct hours_span *x = a;
    const struct hours_span *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Spans that overlap or follow each other become one. */
static void merge_closed(struct hours *h)
{
    size_t kept = 0;

    qsort(h->closed, h->n_closed, sizeof(h->closed[0]), by_first);
    for (size_t i = 0; i < h->n_closed; i++) {
        struct hours_span *before = kept == 0 ? NULL : &h->closed[kept - 1];

        if (before == NULL || h->closed[i].first > before->last + 1)
            h->closed[kept++] = h->closed[i];
        else if (h->closed[i].last > before->last)
            before->last = h->closed[i].last;
    }
    h->n_closed = kept;
}

static bool covers_week(const struct hours *h)
{
    bool open[WEEK_MIN] = {false};

    for (size_t i = 0; i < h->n_ranges; i++)
        for (int day = 0; day < 7; day++)
            for (int m = h->ranges[i].from_min; m < h->ranges[i].to_min; m++)
                if ((h->ranges[i].days >> day & 1) != 0)
                    open[(day * DAY_MIN + m) % WEEK_MIN] = true;
    return memchr(open, 0, sizeof(open)) == NULL;
}

enum err_code hours_settle(struct hours *h, enum hours_open open, struct err *err)
{
    if (open == HOURS_OPEN_GIVEN && h->n_ranges == 0)
        return err_set(err, E_INVALID, "never opens: no range is given");
    if (h->n_ranges == 0)
        h->ranges[h->n_ranges++] = (struct hours_range){0, DAY_MIN, ALL_DAYS};
    merge_closed(h);
    if (h->n_closed == 1 && h->closed[0].first == 0 &&
        h->closed[0].last == civil_days((struct civil){9999, 12, 31}))
        return err_set(err, E_INVALID, "never opens: all dates are closed");
    h->whole_week = covers_week(h);
    return E_OK;
}
