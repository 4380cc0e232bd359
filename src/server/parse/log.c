/* SPDX-License-Identifier: MIT */
#include "server/parse/log.h"

#include "base/json/json.h"
#include "base/text/base64.h"
#include "server/limits.h"

static enum err_code read_offset(struct field_reader *r, struct slice value)
{
    return field_int(r, value, 0, INT64_MAX / 2, &((struct log_append *)r->to)->offset);
}

static enum err_code take_data(struct field_reader *r, struct slice data)
{
    struct log_append *log = r->to;

    if (log->data.data != NULL)
        return err_set(r->err, E_INVALID, "text and base64 exclude each other");
    if (data.size > BODY_LOG_MAX)
        return err_set(r->err, E_TOO_LARGE, "%s: has %zu bytes, at most %zu are allowed", r->name,
                       data.size, BODY_LOG_MAX);
    log->data = slice_make(data.data == NULL ? "" : data.data, data.size);
    return E_OK;
}

static enum err_code read_text(struct field_reader *r, struct slice value)
{
    if (json_type_of(value) != JSON_T_STRING)
        return field_refuse(r, "a string", value);
    return take_data(r, json_text(value, r->arena));
}

static enum err_code read_base64(struct field_reader *r, struct slice value)
{
    struct slice bytes;

    if (json_type_of(value) != JSON_T_STRING)
        return field_refuse(r, "a string", value);
    if (!base64_decode(json_text(value, r->arena), r->arena, &bytes))
        return err_set(r->err, E_INVALID,
                       "base64: is not base64 (A-Z a-z 0-9 + / and = at the end)");
    return take_data(r, bytes);
}

static bool read_mark(struct slice value, struct log_mark *ret_mark)
{
    struct slice offset;
    struct slice at;

    if (json_type_of(value) != JSON_T_ARRAY || json_count_items(value) != 2)
        return false;
    struct json_iter it = json_items(value);

    if (!json_next_item(&it, &offset) || !json_next_item(&it, &at) ||
        json_type_of(offset) != JSON_T_INT || json_type_of(at) != JSON_T_INT)
        return false;
    *ret_mark = log_mark_unpack(json_int(offset), json_int(at));
    return ret_mark->kind != LOG_MARK_ATTEMPT; /* where those begin the engine knows */
}

static enum err_code read_times(struct field_reader *r, struct slice value)
{
    struct log_append *log = r->to;
    struct slice item;

    if (json_type_of(value) != JSON_T_ARRAY)
        return field_refuse(r, "an array", value);
    size_t count = json_count_items(value);

    if (count > LOG_TIMES_MAX)
        return err_set(r->err, E_TOO_LARGE, "times: has %zu items, at most %d are allowed", count,
                       LOG_TIMES_MAX);
    struct log_mark *marks = arena_array(r->arena, count + 1, sizeof(*marks));

    for (struct json_iter it = json_items(value); json_next_item(&it, &item);)
        if (!read_mark(item, &marks[log->n_marks++]))
            return field_refuse(r, "pairs of an offset and microseconds since 1970", item);
    log->marks = marks;
    return E_OK;
}

static const struct field log_fields[] = {
    {FIELD("offset"), .read = read_offset},
    {FIELD("text"), .read = read_text},
    {FIELD("base64"), .read = read_base64},
    {FIELD("times"), .read = read_times, .null = true},
};

/* Marks are in order and within what comes with them. */
static enum err_code check_times(const struct log_append *log, struct err *err)
{
    int64_t from = log->offset;
    int64_t end = log->offset + (int64_t)log->data.size;

    for (size_t i = 0; i < log->n_marks; i++) {
        if (log->marks[i].offset < from || log->marks[i].offset >= end)
            return err_set(err, E_INVALID,
                           "times: offsets must grow and lie within the text that they are of");
        from = log->marks[i].offset;
    }
    return E_OK;
}

enum err_code parse_log(struct field_reader *r, struct slice value,
                        const struct log_append **ret_log)
{
    struct log_append *log = arena_zalloc(r->arena, sizeof(*log));
    struct field_reader reader = {.fields = log_fields,
                                  .n_fields = ARRAY_LEN(log_fields),
                                  .what = "a log",
                                  .arena = r->arena,
                                  .err = r->err,
                                  .to = log};

    log->offset = -1;
    if (fields_read(&reader, value) != E_OK)
        return err_wrap(r->err, "log");
    if (log->offset < 0 || log->data.data == NULL)
        return err_set(r->err, E_INVALID, "log: needs an 'offset' and a 'text' (or 'base64')");
    if (check_times(log, r->err) != E_OK)
        return err_wrap(r->err, "log");
    *ret_log = log;
    return E_OK;
}
