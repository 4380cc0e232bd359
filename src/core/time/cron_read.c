/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <strings.h>

#include "base/civil.h"
#include "base/compiler.h"
#include "base/text/nearest.h"
#include "core/object/quote.h"
#include "core/time/cron.h"
#include "core/time/day_names.h"

enum { TEXT_MAX = 256, FIELDS = 5 };

typedef enum err_code name_parse_fn(struct slice text, int *ret, struct err *err);

static const struct field {
    const char *name;
    int min, max;
    name_parse_fn *by_name;
} fields[FIELDS] = {
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of month", 1, 31, NULL},
    {"month", 1, 12, month_name_parse},
    {"day of week", 0, 7, day_name_parse},
};

/* Takes the part before the first `stop` off the text; NULL data is left at its end. */
static struct slice cut(struct slice *text, char stop)
{
    const char *found = text->size == 0 ? NULL : memchr(text->data, stop, text->size);
    struct slice part = *text;

    *text = slice_make(NULL, 0);
    if (found != NULL) {
        *text = slice_make(found + 1, (size_t)(slice_end(part) - found - 1));
        part.size = (size_t)(found - part.data);
    }
    return part;
}

static bool read_number(struct slice text, int *ret)
{
    int value = 0;

    if (text.size == 0 || text.size > 4)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (text.data[i] - '0');
    }
    *ret = value;
    return true;
}

static enum err_code read_value(const struct field *f, struct slice text, int *ret, struct err *err)
{
    struct quote quote;

    if (read_number(text, ret)) {
        if (*ret >= f->min && *ret <= f->max)
            return E_OK;
    } else if (f->by_name != NULL && text.size > 0) {
        return f->by_name(text, ret, err);
    }
    return err_set(err, E_INVALID, "%s is not %s %s from %d to %d", quote_text(&quote, text),
                   f->name[0] == 'h' ? "an" : "a", f->name, f->min, f->max);
}

/* `*`, 5, 1-10, each with /2 behind it. */
static enum err_code read_part(const struct field *f, struct slice text, uint64_t *bits,
                               struct err *err)
{
    struct slice step_text = text;
    struct slice last = cut(&step_text, '/');
    struct slice first = cut(&last, '-');
    int from = f->min;
    int to = f->max - (f->max == 7);
    int step = 1;
    struct quote quote;

    quote_text(&quote, text);
    if (step_text.data != NULL && (!read_number(step_text, &step) || step < 1 || step > f->max))
        return err_set(err, E_INVALID, "%s has a step that is not from 1 to %d", quote.text,
                       f->max);
    if (!slice_is(first, "*")) {
        if (read_value(f, first, &from, err) != E_OK)
            return err->code;
        to = from;
        if (last.data != NULL && read_value(f, last, &to, err) != E_OK)
            return err->code;
        if (last.data == NULL && step_text.data != NULL)
            return err_set(err, E_INVALID, "%s has a step but no range; write %d-%d/%d", quote.text,
                           from, f->max, step);
    } else if (last.data != NULL) {
        return err_set(err, E_INVALID, "%s is not a range", quote.text);
    }
    if (to < from && f->max == 7)
        to += 7; /* fri-mon goes over the end of the week */
    if (to < from)
        return err_set(err, E_INVALID, "%s runs backwards; write %d-%d,%d-%d", quote.text, from,
                       f->max, f->min, to);
    for (int value = from; value <= to; value += step)
        *bits |= UINT64_C(1) << (f->max == 7 ? value % 7 : value);
    return E_OK;
}

static enum err_code read_field(const struct field *f, struct slice text, uint64_t *ret_bits,
                                struct err *err)
{
    uint64_t bits = 0;

    while (text.data != NULL) {
        struct slice part = cut(&text, ',');

        if (read_part(f, part, &bits, err) != E_OK)
            return err_wrap(err, "%s", f->name);
    }
    *ret_bits = bits;
    return E_OK;
}

/* ---- words ---- */

static const struct {
    const char *word, *fields;
} words[] = {
    {"@hourly", "0 * * * *"},   {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},   {"@monthly", "0 0 1 * *"}, {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
};

static enum err_code find_word(struct slice *text, struct err *err)
{
    const char *list[ARRAY_LEN(words)];
    struct quote quote;

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        list[i] = words[i].word;
        if (text->size == strlen(list[i]) && strncasecmp(text->data, list[i], text->size) == 0) {
            *text = slice_of(words[i].fields);
            return E_OK;
        }
    }
    const char *near = nearest_word(*text, list, ARRAY_LEN(words));

    return err_set(err, E_INVALID, "%s is unknown, %s%s%s", quote_text(&quote, *text),
                   near == NULL ? "the words are @hourly @daily @weekly @monthly @yearly"
                                : "did you mean '",
                   near == NULL ? "" : near, near == NULL ? "" : "'?");
}

/* ---- all together ---- */

/* Splits at spaces and tabs; returns how many fields there are, of which FIELDS are kept. */
static size_t split(struct slice text, struct slice parts[static FIELDS])
{
    size_t n = 0;

    for (size_t i = 0; i < text.size;) {
        size_t first = i;

        while (i < text.size && text.data[i] != ' ' && text.data[i] != '\t')
            i++;
        if (i > first && n < FIELDS)
            parts[n] = slice_make(text.data + first, i - first);
        n += i > first;
        while (i < text.size && (text.data[i] == ' ' || text.data[i] == '\t'))
            i++;
    }
    return n;
}

/* Dates repeat after 400 years: whether any of them matches. */
static bool fires(const struct cron *c)
{
    bool either = !c->any_day && !c->any_weekday;
    int64_t first = civil_days((struct civil){2000, 1, 1});

    for (int64_t days = first; days < first + 146097; days++) {
        struct civil date = civil_from_days(days);
        bool day = (c->days >> date.day & 1) != 0;
        bool weekday = (c->weekdays >> civil_weekday(days) & 1) != 0;

        if ((c->months >> date.month & 1) != 0 && (either ? day || weekday : day && weekday))
            return true;
    }
    return false;
}

enum err_code cron_parse(struct slice text, struct cron *ret_cron, struct err *err)
{
    struct slice parts[FIELDS];
    uint64_t bits[FIELDS];
    struct quote quote;

    if (text.size > TEXT_MAX)
        return err_set(err, E_INVALID, "must have at most %d bytes", TEXT_MAX);
    if (text.size > 0 && text.data[0] == '@' && find_word(&text, err) != E_OK)
        return err->code;
    size_t n = split(text, parts);

    if (n != FIELDS)
        return err_set(err, E_INVALID,
                       "%s has %zu fields, not 5: minute, hour, day of month, month, day of week",
                       quote_text(&quote, text), n);
    for (size_t i = 0; i < FIELDS; i++)
        if (read_field(&fields[i], parts[i], &bits[i], err) != E_OK)
            return err->code;
    struct cron c = {.minutes = bits[0],
                     .hours = (uint32_t)bits[1],
                     .days = (uint32_t)bits[2],
                     .months = (uint32_t)bits[3],
                     .weekdays = (uint32_t)bits[4],
                     .any_day = parts[2].data[0] == '*',
                     .any_weekday = parts[4].data[0] == '*',
                     .real_time = slice_is(parts[1], "*")};

    if (!fires(&c))
        return err_set(err, E_INVALID, "%s never fires: no such date exists",
                       quote_text(&quote, text));
    *ret_cron = c;
    return E_OK;
}
