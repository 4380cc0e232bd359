/* SPDX-License-Identifier: MIT */
#include "core/program/word_read.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/text/utf8.h"
#include "core/gate/window.h"
#include "core/object/quote.h"
#include "core/route/dest.h"
#include "core/route/routing.h"

/* ---- pieces of a line ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

struct slice word_trim(struct slice s)
{
    while (s.size > 0 && is_space(s.data[0]))
        s = slice_make(s.data + 1, s.size - 1);
    while (s.size > 0 && is_space(s.data[s.size - 1]))
        s.size--;
    return s;
}

struct slice word_take(struct slice *rest)
{
    struct slice s = word_trim(*rest);
    size_t size = 0;

    while (size < s.size && !is_space(s.data[size]))
        size++;
    *rest = word_trim(slice_make(s.data + size, s.size - size));
    return slice_make(s.data, size);
}

struct slice word_text(struct slice bytes, size_t max, struct arena *arena)
{
    const char *end = slice_end(bytes);
    bool clean = memchr(bytes.size > 0 ? bytes.data : "x", '\0', bytes.size) == NULL;

    if (clean && utf8_valid(bytes))
        return utf8_cut(bytes, max);
    char *text = arena_alloc(arena, bytes.size + 1);
    size_t size = 0;

    for (const char *at = bytes.data; at < end;) {
        size_t step = *at == '\0' ? 0 : utf8_step(at, end);

        if (step == 0) {
            text[size++] = '?';
            at++;
            continue;
        }
        memcpy(text + size, at, step);
        size += step;
        at += step;
    }
    text[size] = '\0';
    return utf8_cut(slice_make(text, size), max);
}

/* ---- reading ---- */

enum err_code word_read_text(struct word_reading *r)
{
    r->word->text = word_text(r->rest, WORD_TEXT_MAX, r->arena);
    return E_OK;
}

/* Digits and an optional fraction, which is dropped. */
static bool take_number(struct slice *s, int64_t *ret_number)
{
    size_t at = 0;
    int64_t n = 0;

    for (; at < s->size && s->data[at] >= '0' && s->data[at] <= '9'; at++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, s->data[at] - '0', &n))
            return false;
    if (at == 0)
        return false;
    if (at + 1 < s->size && s->data[at] == '.' && s->data[at + 1] >= '0' && s->data[at + 1] <= '9')
        for (at++; at < s->size && s->data[at] >= '0' && s->data[at] <= '9'; at++)
            continue;
    *s = slice_make(s->data + at, s->size - at);
    *ret_number = n;
    return true;
}

static enum err_code read_left(struct word_reading *r)
{
    struct slice length = word_take(&r->rest);

    if (length.size == 0)
        return err_set(r->err, E_INVALID, "left: needs a length of time, such as 90s");
    if (duration_parse(length, &r->word->left_us, r->err) != E_OK)
        return err_wrap(r->err, "left");
    r->word->has_left = true;
    return word_read_text(r);
}

static enum err_code not_a_count(struct word_reading *r, struct slice given)
{
    struct quote quote;

    return err_set(r->err, E_INVALID,
                   "needs N, N/M or 'left TIME', such as 40/100, 12MB or left 90s, not %s",
                   given.size > 0 ? quote_text(&quote, given) : "nothing");
}

enum err_code word_read_progress(struct word_reading *r)
{
    struct slice given = word_take(&r->rest);
    struct slice at = given;
    struct word *w = r->word;

    if (slice_is(given, "left"))
        return read_left(r);
    if (!take_number(&at, &w->done))
        return not_a_count(r, given);
    if (at.size > 0 && at.data[0] == '/') {
        at = slice_make(at.data + 1, at.size - 1);
        if (!take_number(&at, &w->total))
            return not_a_count(r, given);
    }
    w->unit = word_text(at, WORD_UNIT_MAX, r->arena);
    if (w->total == 0 && slice_is(w->unit, "%"))
        w->total = 100;
    w->has_done = true;
    return word_read_text(r);
}

static enum err_code read_json(struct word_reading *r)
{
    if (r->rest.size == 0)
        return err_set(r->err, E_INVALID, "needs a JSON value");
    return jtext_check(r->rest, &r->word->json, r->err) == E_OK ? E_OK : E_INVALID;
}

enum err_code word_read_job(struct word_reading *r)
{
    struct quote quote;

    if (read_json(r) != E_OK)
        return E_INVALID;
    if (jtext_type_of(r->word->json) != JTEXT_OBJECT)
        return err_set(r->err, E_INVALID, "needs a job, a JSON object, not %s",
                       quote_json(&quote, r->word->json));
    return E_OK;
}

enum err_code word_read_cursor(struct word_reading *r)
{
    if (read_json(r) != E_OK)
        return E_INVALID;
    if (r->word->json.size > WORD_CURSOR_MAX)
        return err_set(r->err, E_INVALID, "has %zu bytes, at most %zu are allowed",
                       r->word->json.size, WORD_CURSOR_MAX);
    return E_OK;
}

/* The size of the JSON string that `s` begins with, quotes included; 0 if it is not closed. */
static size_t string_size(struct slice s)
{
    for (size_t i = 1; i < s.size; i++) {
        if (s.data[i] == '\\')
            i++;
        else if (s.data[i] == '"')
            return i + 1;
    }
    return 0;
}

/* A name, plain or as a JSON string. */
static enum err_code take_name(struct word_reading *r, struct slice *ret_name)
{
    struct slice name = r->rest;

    if (name.size > 0 && name.data[0] == '"') {
        struct slice value;

        name.size = string_size(name);
        if (name.size == 0)
            return err_set(r->err, E_INVALID, "the name has no closing quote");
        if (jtext_check(name, &value, r->err) != E_OK)
            return err_wrap(r->err, "the name");
        r->rest = word_trim(
            slice_make(slice_end(name), (size_t)(slice_end(r->rest) - slice_end(name))));
        name = jtext_text(value, r->arena);
    } else {
        name = word_take(&r->rest);
    }
    if (name.size == 0 || name.size > WORD_NAME_MAX || !utf8_valid(name))
        return err_set(r->err, E_INVALID, "needs a name of 1 to %zu bytes of UTF-8", WORD_NAME_MAX);
    *ret_name = name;
    return E_OK;
}

enum err_code word_read_set(struct word_reading *r)
{
    if (take_name(r, &r->word->name) != E_OK)
        return E_INVALID;
    return read_json(r);
}

enum err_code word_read_step(struct word_reading *r)
{
    struct route_step *steps;
    struct quote quote;
    size_t n;

    if (read_json(r) != E_OK)
        return E_INVALID;
    if (jtext_type_of(r->word->json) != JTEXT_OBJECT)
        return err_set(r->err, E_INVALID, "needs a step, a JSON object, not %s",
                       quote_json(&quote, r->word->json));
    return route_steps_parse(r->word->json, 0, r->arena, &steps, &n, r->err);
}

enum err_code word_read_raise(struct word_reading *r)
{
    struct word *w = r->word;
    struct quote quote;

    w->count = 1;
    if (take_name(r, &w->name) != E_OK || dest_name_check("signal", w->name, r->err) != E_OK)
        return E_INVALID;
    struct slice given = r->rest;
    struct slice at = given;

    if (given.size == 0)
        return E_OK;
    if (memchr(given.data, '.', given.size) != NULL || !take_number(&at, &w->count) ||
        at.size > 0 || w->count < 1 || w->count > SIGNAL_COUNT_MAX)
        return err_set(r->err, E_INVALID,
                       "the number after the name must be an integer from 1 to %" PRId64 ", not %s",
                       SIGNAL_COUNT_MAX, quote_text(&quote, given));
    return E_OK;
}

enum err_code word_read_use(struct word_reading *r)
{
    struct word *w = r->word;
    struct quote quote;

    if (take_name(r, &w->name) != E_OK || dest_name_check("resource", w->name, r->err) != E_OK)
        return E_INVALID;
    struct slice at = r->rest;

    if (at.size == 0 || memchr(at.data, '.', at.size) != NULL || !take_number(&at, &w->count) ||
        at.size > 0 || w->count < 0 || w->count > WINDOW_WEIGHT_MAX)
        return err_set(r->err, E_INVALID,
                       "the number after the name must be an integer from 0 to %" PRId64 ", not %s",
                       WINDOW_WEIGHT_MAX,
                       r->rest.size > 0 ? quote_text(&quote, r->rest) : "nothing");
    return E_OK;
}

enum err_code word_read_resend(struct word_reading *r)
{
    const char *dash = r->rest.size > 0 ? memchr(r->rest.data, '-', r->rest.size) : NULL;
    size_t size = dash != NULL ? (size_t)(dash - r->rest.data) : r->rest.size;
    struct slice seconds = word_trim(slice_make(r->rest.data, size));
    struct slice why = dash != NULL ? slice_make(dash + 1, r->rest.size - size - 1) : SLICE("");
    struct err unread = ERR_INIT;
    struct quote quote;

    if (seconds.size == 0 || duration_parse(seconds, &r->word->delay_us, &unread) != E_OK)
        return err_set(
            r->err, E_INVALID,
            "needs a number of seconds and optionally a reason, such as 300-busy, not %s",
            r->rest.size > 0 ? quote_text(&quote, r->rest) : "nothing");
    r->word->text = word_text(word_trim(why), WORD_TEXT_MAX, r->arena);
    return E_OK;
}

enum err_code word_read_busy(struct word_reading *r)
{
    struct word *w = r->word;
    struct err unread = ERR_INIT;
    struct quote quote;

    if (take_name(r, &w->name) != E_OK || dest_name_check("resource", w->name, r->err) != E_OK)
        return E_INVALID;
    struct slice rest = r->rest;
    struct slice seconds = word_take(&rest);

    if (seconds.size == 0 || duration_parse(seconds, &w->delay_us, &unread) != E_OK ||
        w->delay_us == 0)
        return err_set(r->err, E_INVALID,
                       "needs a number of seconds after the name, and optionally a reason, such as "
                       "30 quota, not %s",
                       r->rest.size > 0 ? quote_text(&quote, r->rest) : "nothing");
    w->text = word_text(word_trim(rest), WORD_TEXT_MAX, r->arena);
    return E_OK;
}
