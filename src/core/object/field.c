/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "base/text/nearest.h"
#include "core/object/object.h"
#include "core/object/quote.h"

enum { SIZE_TEXT_SIZE = 24 };

/* ---- sizes ---- */

static const struct {
    char name;
    int shift;
} size_units[] = {{'T', 40}, {'G', 30}, {'M', 20}, {'K', 10}};

static const char *size_format(int64_t bytes, char text[static SIZE_TEXT_SIZE])
{
    for (size_t i = 0; i < ARRAY_LEN(size_units); i++) {
        int64_t unit = INT64_C(1) << size_units[i].shift;

        if (bytes != 0 && bytes % unit == 0) {
            snprintf(text, SIZE_TEXT_SIZE, "%" PRId64 "%c", bytes / unit, size_units[i].name);
            return text;
        }
    }
    snprintf(text, SIZE_TEXT_SIZE, "%" PRId64, bytes);
    return text;
}

static bool size_parse(struct slice text, int64_t *ret_bytes)
{
    int shift = 0;
    int64_t bytes = 0;

    for (size_t i = 0; i < ARRAY_LEN(size_units) && text.size > 1; i++)
        if (text.data[text.size - 1] == size_units[i].name)
            shift = size_units[i].shift;
    if (shift > 0)
        text.size--;
    return slice_number(text, &bytes) &&
           !__builtin_mul_overflow(bytes, INT64_C(1) << shift, ret_bytes);
}

/* ---- messages ---- */

static void add_bound(const struct field *f, int64_t bound, struct buf *out)
{
    char length[DURATION_TEXT_SIZE];
    char size[SIZE_TEXT_SIZE];

    if (f->type == FIELD_T_LENGTH)
        buf_add_str(out, bound == 0 ? "0" : duration_format(bound, length));
    else if (f->type == FIELD_T_SIZE)
        buf_add_str(out, size_format(bound, size));
    else
        buf_add_int(out, bound);
}

void field_bounds(const struct field *f, struct buf *out)
{
    add_bound(f, f->min, out);
    if (f->max == INT64_MAX) {
        buf_add_str(out, " or more");
        return;
    }
    buf_add_str(out, " to ");
    add_bound(f, f->max, out);
}

enum err_code object_must_be(struct object_read *r, const char *what, struct slice value)
{
    struct quote quote;

    return err_set(r->err, E_INVALID, "must be %s, not %s", what, quote_json(&quote, value));
}

static enum err_code refuse_bounds(struct object_read *r, const struct field *f, const char *what,
                                   struct slice value)
{
    CLEANUP(buf) struct buf bounds = BUF_INIT(100);
    struct quote quote;

    field_bounds(f, &bounds);
    return err_set(r->err, E_INVALID, "must be %s%s %s, not %s", what,
                   f->max == INT64_MAX ? "," : " from", buf_text(&bounds),
                   quote_json(&quote, value));
}

/* ---- reading ---- */

static enum err_code read_whole(struct object_read *r, const struct field *f, struct slice value,
                                int64_t *ret_n)
{
    int64_t n = jtext_type_of(value) == JTEXT_INT ? jtext_int(value) : 0;

    if (jtext_type_of(value) != JTEXT_INT || n < f->min || n > f->max)
        return refuse_bounds(r, f, "a whole number", value);
    *ret_n = n;
    return E_OK;
}

static enum err_code read_real(struct object_read *r, const struct field *f, struct slice value,
                               double *ret_n)
{
    enum jtext_type type = jtext_type_of(value);
    double n = type == JTEXT_INT || type == JTEXT_REAL ? jtext_number(value) : 0;

    if ((type != JTEXT_INT && type != JTEXT_REAL) || !(n >= (double)f->min && n <= (double)f->max))
        return refuse_bounds(r, f, "a number", value);
    *ret_n = n;
    return E_OK;
}

static enum err_code read_length(struct object_read *r, const struct field *f, struct slice value,
                                 int64_t *ret_us)
{
    enum jtext_type type = jtext_type_of(value);
    enum err_code code = E_OK;
    int64_t us;

    if (type == JTEXT_STRING)
        code = duration_parse(jtext_text(value, r->arena), &us, r->err);
    else if (type == JTEXT_INT || type == JTEXT_REAL)
        code = duration_from_seconds(jtext_number(value), &us, r->err);
    else
        return object_must_be(r, "a length of time such as \"30s\" or a number of seconds", value);
    if (code != E_OK)
        return code;
    if (us < f->min || us > f->max)
        return refuse_bounds(r, f, "a length of time", value);
    *ret_us = us;
    return E_OK;
}

static enum err_code read_size(struct object_read *r, const struct field *f, struct slice value,
                               int64_t *ret_bytes)
{
    enum jtext_type type = jtext_type_of(value);
    struct quote quote;
    int64_t bytes;

    if (type == JTEXT_INT)
        bytes = jtext_int(value);
    else if (type != JTEXT_STRING)
        return refuse_bounds(r, f, "a size", value);
    else if (!size_parse(jtext_text(value, r->arena), &bytes))
        return err_set(r->err, E_INVALID,
                       "%s is not a size like 64K, 512M, 2G or a number of bytes",
                       quote_json(&quote, value));
    if (bytes < f->min || bytes > f->max)
        return refuse_bounds(r, f, "a size", value);
    *ret_bytes = bytes;
    return E_OK;
}

static enum err_code read_text(struct object_read *r, const struct field *f, struct slice value,
                               struct slice *ret_text)
{
    enum jtext_type type = jtext_type_of(value);
    bool nested = type == JTEXT_OBJECT || type == JTEXT_ARRAY;
    struct quote quote;

    if (type != JTEXT_STRING) /* in YAML a number or `true` is text only in quotes */
        return err_set(r->err, E_INVALID, "must be text, not %s%s", quote_json(&quote, value),
                       nested ? "" : " (put it in quotes)");
    struct slice text = jtext_text(value, r->arena);

    if (text.size == 0 && f->min > 0)
        return err_set(r->err, E_INVALID, "must not be empty");
    if (text.size < (size_t)f->min)
        return err_set(r->err, E_INVALID, "must have at least %" PRId64 " bytes, not %zu", f->min,
                       text.size);
    if (text.size > (size_t)f->max)
        return err_set(r->err, E_INVALID, "must have at most %" PRId64 " bytes, not %zu", f->max,
                       text.size);
    *ret_text = r->copies ? arena_copy(r->arena, text) : text;
    return E_OK;
}

static enum err_code read_time(struct object_read *r, struct slice value, int64_t *ret_at)
{
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "a time such as \"2030-01-31T12:00:00Z\"", value);
    return time_parse(jtext_text(value, r->arena), ret_at, r->err);
}

static enum err_code read_id(struct object_read *r, const struct field *f, struct slice value,
                             int64_t *ret_id)
{
    int64_t id;

    if (jtext_type_of(value) != JTEXT_STRING || !id_parse(jtext_text(value, r->arena), &id) ||
        id < f->min)
        return object_must_be(r, "an id of 13 letters and digits", value);
    *ret_id = id;
    return E_OK;
}

static enum err_code read_bool(struct object_read *r, struct slice value, bool *ret_flag)
{
    enum jtext_type type = jtext_type_of(value);

    if (type != JTEXT_TRUE && type != JTEXT_FALSE)
        return object_must_be(r, "true or false", value);
    *ret_flag = type == JTEXT_TRUE;
    return E_OK;
}

static enum err_code refuse_word(struct object_read *r, const char *const *words, size_t n,
                                 struct slice value)
{
    CLEANUP(buf) struct buf all = BUF_INIT(200);
    struct quote quote;
    const char *near = NULL;

    if (jtext_type_of(value) == JTEXT_STRING)
        near = nearest_word(jtext_text(value, r->arena), words, n);
    if (near != NULL)
        return err_set(r->err, E_INVALID, "%s is unknown, did you mean '%s'?",
                       quote_json(&quote, value), near);
    for (size_t i = 0; i < n; i++)
        buf_addf(&all, "%s%s", i == 0 ? "" : i == n - 1 ? " or " : ", ", words[i]);
    return object_must_be(r, buf_text(&all), value);
}

static enum err_code read_word(struct object_read *r, const struct field *f, struct slice value,
                               int *ret_word)
{
    if (jtext_type_of(value) == JTEXT_STRING)
        for (int64_t i = f->min; i <= f->max; i++)
            if (jtext_key_is(value, f->words[i])) {
                *ret_word = (int)i;
                return E_OK;
            }
    return refuse_word(r, f->words + f->min, (size_t)(f->max - f->min + 1), value);
}

static enum err_code read_object(struct object_read *r, struct slice value, struct slice *ret_json)
{
    if (jtext_type_of(value) != JTEXT_OBJECT)
        return object_must_be(r, "an object", value);
    *ret_json = r->copies ? jtext_compact(value, r->arena) : value;
    return E_OK;
}

static enum err_code read_by_type(struct object_read *r, const struct field *f, struct slice value)
{
    void *at = (char *)r->to + f->offset;
    int64_t n = 0;

    switch (f->type) {
    case FIELD_T_TEXT: return read_text(r, f, value, at);
    case FIELD_T_INT:
        if (read_whole(r, f, value, &n) != E_OK)
            return r->err->code;
        *(int *)at = (int)n;
        return E_OK;
    case FIELD_T_INT64: return read_whole(r, f, value, at);
    case FIELD_T_REAL: return read_real(r, f, value, at);
    case FIELD_T_LENGTH: return read_length(r, f, value, at);
    case FIELD_T_SIZE: return read_size(r, f, value, at);
    case FIELD_T_TIME: return read_time(r, value, at);
    case FIELD_T_ID: return read_id(r, f, value, at);
    case FIELD_T_BOOL: return read_bool(r, value, at);
    case FIELD_T_WORD: return read_word(r, f, value, at);
    case FIELD_T_OBJECT: return read_object(r, value, at);
    case FIELD_T_JSON: *(struct slice *)at = value; return E_OK;
    case FIELD_T_MEMBERS: return object_read_in(r, f->of, value, r->to);
    case FIELD_T_CUSTOM: return f->read(r, f, value);
    case FIELD_T_IGNORED: return E_OK;
    case FIELD_T_UNBUILT: break;
    }
    ASSERT(!"a field that is not built is refused before");
    return E_INVALID;
}

enum err_code field_read(struct object_read *r, const struct field *f, struct slice value)
{
    if (read_by_type(r, f, value) != E_OK)
        return r->err->code;
    if (f->given != 0)
        *(bool *)((char *)r->to + f->given) = true;
    return f->check == NULL ? E_OK : f->check(r, f, value);
}

/* ---- writing ---- */

void field_write(const void *from, const struct field *f, struct buf *out)
{
    const void *at = (const char *)from + f->offset;
    char length[DURATION_TEXT_SIZE];
    char size[SIZE_TEXT_SIZE];
    char id[ID_TEXT_SIZE];

    switch (f->type) {
    case FIELD_T_TEXT: jtext_add_string(out, *(const struct slice *)at); break;
    case FIELD_T_INT: buf_add_int(out, *(const int *)at); break;
    case FIELD_T_INT64: buf_add_int(out, *(const int64_t *)at); break;
    case FIELD_T_REAL: buf_add_real(out, *(const double *)at); break;
    case FIELD_T_LENGTH:
        jtext_add_string(out, slice_of(duration_format(*(const int64_t *)at, length)));
        break;
    case FIELD_T_SIZE:
        jtext_add_string(out, slice_of(size_format(*(const int64_t *)at, size)));
        break;
    case FIELD_T_TIME: jtext_add_time(out, *(const int64_t *)at); break;
    case FIELD_T_ID: jtext_add_string(out, slice_of(id_format(*(const int64_t *)at, id))); break;
    case FIELD_T_BOOL: jtext_add_bool(out, *(const bool *)at); break;
    case FIELD_T_WORD: jtext_add_string(out, slice_of(f->words[*(const int *)at])); break;
    case FIELD_T_OBJECT:
    case FIELD_T_JSON: buf_add_slice(out, *(const struct slice *)at); break;
    case FIELD_T_CUSTOM: f->write(from, f, out); break;
    case FIELD_T_MEMBERS:
    case FIELD_T_IGNORED:
    case FIELD_T_UNBUILT: ASSERT(!"objects are written by their members");
    }
}
