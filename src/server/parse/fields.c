/* SPDX-License-Identifier: MIT */
#include "server/parse/fields.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/json/json.h"
#include "base/text/nearest.h"
#include "core/object/quote.h"

enum { FIELDS_MAX = 32 };

static bool key_is(struct slice key, const struct field *f)
{
    if (key.size == f->size + 2)
        return memcmp(key.data + 1, f->name, f->size) == 0;
    return key.size > f->size + 2 && memchr(key.data, '\\', key.size) != NULL &&
           json_key_is(key, f->name);
}

static const struct field *find(const struct field_reader *r, struct slice key)
{
    for (size_t i = 0; i < r->n_fields; i++)
        if (key_is(key, &r->fields[i]))
            return &r->fields[i];
    return NULL;
}

static enum err_code unknown(struct field_reader *r, struct slice key)
{
    const char *words[FIELDS_MAX];
    struct quote quote;
    size_t count = 0;

    for (size_t i = 0; i < r->n_fields && count < FIELDS_MAX; i++)
        if (r->fields[i].read != NULL)
            words[count++] = r->fields[i].name;
    const char *near = nearest_word(json_text(key, r->arena), words, count);

    quote_json(&quote, key);
    if (near != NULL)
        return err_set(r->err, E_INVALID, "%s has no field %s, did you mean '%s'?", r->what,
                       quote.text, near);
    return err_set(r->err, E_INVALID, "%s has no field %s", r->what, quote.text);
}

enum err_code fields_read(struct field_reader *r, struct slice object)
{
    struct slice key;
    struct slice value;
    struct quote quote;

    if (json_type_of(object) != JSON_T_OBJECT)
        return err_set(r->err, E_INVALID, "%s must be an object, not %s", r->what,
                       quote_json(&quote, object));
    for (struct json_iter it = json_members(object); json_next_member(&it, &key, &value);) {
        const struct field *f = find(r, key);

        if (f == NULL)
            return unknown(r, key);
        if (f->read == NULL)
            return err_set(r->err, E_INVALID, "the field '%s' is not built yet", f->name);
        if (f->null && json_type_of(value) == JSON_T_NULL)
            continue;
        r->name = f->name;
        if (f->read(r, value) != E_OK)
            return r->err->code;
    }
    return E_OK;
}

enum err_code field_refuse(struct field_reader *r, const char *what, struct slice value)
{
    struct quote quote;

    return err_set(r->err, E_INVALID, "%s: must be %s, not %s", r->name, what,
                   quote_json(&quote, value));
}

enum err_code field_text(struct field_reader *r, struct slice value, size_t min, size_t max,
                         struct slice *ret_text)
{
    if (json_type_of(value) != JSON_T_STRING)
        return field_refuse(r, "a string", value);
    struct slice text = json_text(value, r->arena);

    if (text.size < min)
        return err_set(r->err, E_INVALID, "%s: must not be empty", r->name);
    if (text.size > max)
        return err_set(r->err, E_INVALID, "%s: has %zu bytes, at most %zu are allowed", r->name,
                       text.size, max);
    *ret_text = text;
    return E_OK;
}

enum err_code field_int(struct field_reader *r, struct slice value, int64_t min, int64_t max,
                        int64_t *ret_n)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_INT)
        return field_refuse(r, "a whole number", value);
    int64_t n = json_int(value);

    if (n < min || n > max)
        return err_set(r->err, E_INVALID, "%s: must be from %" PRId64 " to %" PRId64 ", not %s",
                       r->name, min, max, quote_json(&quote, value));
    *ret_n = n;
    return E_OK;
}

enum err_code field_bool(struct field_reader *r, struct slice value, bool *ret_flag)
{
    enum json_type type = json_type_of(value);

    if (type != JSON_T_TRUE && type != JSON_T_FALSE)
        return field_refuse(r, "true or false", value);
    *ret_flag = type == JSON_T_TRUE;
    return E_OK;
}

enum err_code field_object(struct field_reader *r, struct slice value, struct slice *ret_object)
{
    if (json_type_of(value) != JSON_T_OBJECT)
        return field_refuse(r, "an object", value);
    *ret_object = value;
    return E_OK;
}

static enum err_code length_value(struct field_reader *r, struct slice value, int64_t *ret_us)
{
    switch (json_type_of(value)) {
    case JSON_T_STRING: return duration_parse(json_text(value, r->arena), ret_us, r->err);
    case JSON_T_INT:
    case JSON_T_REAL: return duration_from_seconds(json_number(value), ret_us, r->err);
    case JSON_T_NULL:
    case JSON_T_FALSE:
    case JSON_T_TRUE:
    case JSON_T_ARRAY:
    case JSON_T_OBJECT: break;
    }
    struct quote quote;

    return err_set(r->err, E_INVALID,
                   "must be a length of time such as \"30s\" or a number of seconds, not %s",
                   quote_json(&quote, value));
}

enum err_code field_length(struct field_reader *r, struct slice value, int64_t min_us,
                           int64_t max_us, int64_t *ret_us)
{
    char least[DURATION_TEXT_SIZE];
    char most[DURATION_TEXT_SIZE];
    int64_t us = 0;

    if (length_value(r, value, &us) != E_OK)
        return err_wrap(r->err, "%s", r->name);
    if (us < min_us || us > max_us)
        return err_set(r->err, E_INVALID, "%s: must be from %s to %s", r->name,
                       duration_format(min_us, least), duration_format(max_us, most));
    *ret_us = us;
    return E_OK;
}

enum err_code field_time(struct field_reader *r, struct slice value, int64_t *ret_at)
{
    if (json_type_of(value) != JSON_T_STRING)
        return field_refuse(r, "a time such as \"2030-01-31T12:00:00Z\"", value);
    if (time_parse(json_text(value, r->arena), ret_at, r->err) != E_OK)
        return err_wrap(r->err, "%s", r->name);
    return E_OK;
}

enum err_code field_id(struct field_reader *r, struct slice value, int64_t *ret_id)
{
    if (json_type_of(value) != JSON_T_STRING || !id_parse(json_text(value, r->arena), ret_id))
        return field_refuse(r, "an id of 13 letters and digits", value);
    return E_OK;
}
