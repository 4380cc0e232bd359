/* SPDX-License-Identifier: MIT */
#include "server/parse/log.h"

#include "base/jtext/jtext.h"
#include "base/text/base64.h"
#include "engine/op.h"
#include "server/limits.h"

/* `text`, and `base64` whose bytes are decoded. */
static enum err_code read_data(struct object_read *r, const struct field *f, struct slice value)
{
    struct log_append *log = r->to;
    struct slice data = jtext_text(value, r->arena);

    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "a string", value);
    if (strcmp(f->name, "base64") == 0 && !base64_decode(data, r->arena, &data))
        return err_set(r->err, E_INVALID, "is not base64 (A-Z a-z 0-9 + / and = at the end)");
    if (log->data.data != NULL)
        return err_set(r->err, E_INVALID, "text and base64 exclude each other");
    if (data.size > BODY_LOG_MAX)
        return err_set(r->err, E_TOO_LARGE, "must have at most %zu bytes, not %zu", BODY_LOG_MAX,
                       data.size);
    log->data = slice_make(data.data == NULL ? "" : data.data, data.size);
    return E_OK;
}

static bool read_mark(struct slice value, struct log_mark *ret_mark)
{
    struct slice offset;
    struct slice at;

    if (jtext_type_of(value) != JTEXT_ARRAY || jtext_count_items(value) != 2)
        return false;
    struct jtext_iter it = jtext_items(value);

    if (!jtext_next_item(&it, &offset) || !jtext_next_item(&it, &at) ||
        jtext_type_of(offset) != JTEXT_INT || jtext_type_of(at) != JTEXT_INT)
        return false;
    *ret_mark = log_mark_unpack(jtext_int(offset), jtext_int(at));
    return ret_mark->kind != LOG_MARK_ATTEMPT; /* where those begin the engine knows */
}

static enum err_code read_times(struct object_read *r, const struct field *f, struct slice value)
{
    struct log_append *log = r->to;
    struct slice item;

    (void)f;
    if (jtext_type_of(value) != JTEXT_ARRAY)
        return object_must_be(r, "an array", value);
    size_t count = jtext_count_items(value);

    if (count > LOG_TIMES_MAX)
        return err_set(r->err, E_TOO_LARGE, "must have at most %d items, not %zu", LOG_TIMES_MAX,
                       count);
    struct log_mark *marks = arena_array(r->arena, count + 1, sizeof(*marks));

    for (struct jtext_iter it = jtext_items(value); jtext_next_item(&it, &item);)
        if (!read_mark(item, &marks[log->n_marks++]))
            return object_must_be(r, "pairs of an offset and microseconds since 1970", item);
    log->marks = marks;
    return E_OK;
}

/* Marks are in order and within what comes with them. */
static enum err_code check_log(struct object_read *r, struct slice value)
{
    const struct log_append *log = r->to;
    int64_t from = log->offset;
    int64_t end = log->offset + (int64_t)log->data.size;

    (void)value;
    if (log->data.data == NULL)
        return err_set(r->err, E_INVALID, "needs a 'text' (or 'base64')");
    for (size_t i = 0; i < log->n_marks; i++) {
        if (log->marks[i].offset < from || log->marks[i].offset >= end)
            return err_set(r->err, E_INVALID,
                           "times: offsets must grow and lie within the text that they are of");
        from = log->marks[i].offset;
    }
    return E_OK;
}

static const struct field log_fields[] = {
    FIELD_INT64("offset", log_append, offset, .required = true, .max = INT64_MAX / 2,
                .help = "where in the job's log the text begins"),
    FIELD_CUSTOM("text", read_data, .schema = "Text"),
    FIELD_CUSTOM("base64", read_data, .schema = "Text", .help = "The text, when it is not UTF-8."),
    FIELD_CUSTOM("times", read_times, .null = true,
                 .schema = "{'type':'array','items':{'type':'array','items':{'type':'integer'}}}",
                 .help = "Pairs of an offset and microseconds since 1970."),
};

const struct object log_object = {.what = "a log",
                                  .schema = "LogPiece",
                                  OBJECT_FIELDS(log_fields),
                                  .needs = true,
                                  .check = check_log};

enum err_code log_read(struct object_read *r, const struct field *f, struct slice value)
{
    struct log_append *log = arena_zalloc(r->arena, sizeof(*log));

    *(const struct log_append **)(void *)((char *)r->to + f->offset) = log;
    return object_read_in(r, &log_object, value, log);
}
