/* SPDX-License-Identifier: MIT */
#include "core/queue/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json/json.h"
#include "core/object/quote.h"
#include "core/program/template.h"
#include "core/queue/def.h"
#include "core/queue/env.h"
#include "core/queue/exits.h"
#include "core/queue/lists.h"

enum { COMMAND_ARGS_MAX = 4096, SIZE_TEXT_SIZE = 24 };

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
    if (text.size == 0)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if (c < '0' || c > '9' || __builtin_mul_overflow(bytes, 10, &bytes) ||
            __builtin_add_overflow(bytes, c - '0', &bytes))
            return false;
    }
    return !__builtin_mul_overflow(bytes, INT64_C(1) << shift, ret_bytes);
}

/* ---- bounds ---- */

static void add_bound(const struct queue_key *key, int64_t bound, struct buf *out)
{
    char length[DURATION_TEXT_SIZE];
    char size[SIZE_TEXT_SIZE];

    if (key->kind == QUEUE_KEY_LENGTH)
        buf_add_str(out, bound == 0 ? "0" : duration_format(bound, length));
    else if (key->kind == QUEUE_KEY_SIZE)
        buf_add_str(out, size_format(bound, size));
    else
        buf_add_int(out, bound);
}

void queue_value_bounds(const struct queue_key *key, struct buf *out)
{
    add_bound(key, key->min, out);
    buf_add_str(out, " to ");
    add_bound(key, key->max, out);
}

static enum err_code out_of_bounds(struct queue_read *r, const struct queue_key *key,
                                   const char *what, struct slice value)
{
    CLEANUP(buf) struct buf bounds = BUF_INIT(100);
    struct quote quote;

    queue_value_bounds(key, &bounds);
    return err_set(r->err, E_INVALID, "must be %s from %s, not %s", what, buf_text(&bounds),
                   quote_json(&quote, value));
}

static bool within(const struct queue_key *key, int64_t n)
{
    return n >= key->min && n <= key->max;
}

static void *field(const struct queue_read *r, const struct queue_key *key)
{
    return (char *)r->def + key->offset;
}

static const void *field_of(const struct queue_def *def, const struct queue_key *key)
{
    return (const char *)def + key->offset;
}

/* ---- reading ---- */

static enum err_code read_whole(struct queue_read *r, const struct queue_key *key,
                                struct slice value, int64_t *ret_n)
{
    if (json_type_of(value) != JSON_T_INT || !within(key, json_int(value)))
        return out_of_bounds(r, key, "a whole number", value);
    *ret_n = json_int(value);
    return E_OK;
}

static enum err_code read_count(struct queue_read *r, const struct queue_key *key,
                                struct slice value)
{
    int64_t n;

    if (read_whole(r, key, value, &n) != E_OK)
        return r->err->code;
    *(int *)field(r, key) = (int)n;
    return E_OK;
}

static enum err_code read_number(struct queue_read *r, const struct queue_key *key,
                                 struct slice value)
{
    return read_whole(r, key, value, field(r, key));
}

static enum err_code read_nice(struct queue_read *r, const struct queue_key *key,
                               struct slice value)
{
    if (read_number(r, key, value) != E_OK)
        return r->err->code;
    r->def->limits.niced = true;
    return E_OK;
}

static enum err_code read_real(struct queue_read *r, const struct queue_key *key,
                               struct slice value)
{
    enum json_type type = json_type_of(value);

    if (type != JSON_T_INT && type != JSON_T_REAL)
        return out_of_bounds(r, key, "a number", value);
    double n = json_number(value);

    if (!(n >= (double)key->min && n <= (double)key->max))
        return out_of_bounds(r, key, "a number", value);
    *(double *)field(r, key) = n;
    return E_OK;
}

static enum err_code read_length(struct queue_read *r, const struct queue_key *key,
                                 struct slice value)
{
    enum json_type type = json_type_of(value);
    enum err_code code = E_OK;
    int64_t us;

    if (type == JSON_T_STRING)
        code = duration_parse(json_text(value, r->arena), &us, r->err);
    else if (type == JSON_T_INT || type == JSON_T_REAL)
        code = duration_from_seconds(json_number(value), &us, r->err);
    else
        return out_of_bounds(r, key, "a length of time", value);
    if (code != E_OK)
        return code;
    if (!within(key, us))
        return out_of_bounds(r, key, "a length of time", value);
    *(int64_t *)field(r, key) = us;
    return E_OK;
}

static enum err_code read_size(struct queue_read *r, const struct queue_key *key,
                               struct slice value)
{
    enum json_type type = json_type_of(value);
    struct quote quote;
    int64_t bytes;

    if (type == JSON_T_INT)
        bytes = json_int(value);
    else if (type != JSON_T_STRING)
        return out_of_bounds(r, key, "a size", value);
    else if (!size_parse(json_text(value, r->arena), &bytes))
        return err_set(r->err, E_INVALID,
                       "%s is not a size like 64K, 512M, 2G or a number of bytes",
                       quote_json(&quote, value));
    if (!within(key, bytes))
        return out_of_bounds(r, key, "a size", value);
    *(int64_t *)field(r, key) = bytes;
    return E_OK;
}

static enum err_code read_bool(struct queue_read *r, const struct queue_key *key,
                               struct slice value)
{
    enum json_type type = json_type_of(value);
    struct quote quote;

    if (type != JSON_T_TRUE && type != JSON_T_FALSE)
        return err_set(r->err, E_INVALID, "must be true or false, not %s",
                       quote_json(&quote, value));
    *(bool *)field(r, key) = type == JSON_T_TRUE;
    return E_OK;
}

static enum err_code read_text(struct queue_read *r, const struct queue_key *key,
                               struct slice value)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_STRING)
        return err_set(r->err, E_INVALID, "must be text, not %s (put it in quotes)",
                       quote_json(&quote, value));
    struct slice text = json_text(value, r->arena);

    if (text.size < (size_t)key->min)
        return err_set(r->err, E_INVALID, "must not be empty");
    if (text.size > (size_t)key->max)
        return err_set(r->err, E_INVALID, "must have at most %" PRId64 " bytes, not %zu", key->max,
                       text.size);
    *(struct slice *)field(r, key) = arena_copy(r->arena, text);
    return E_OK;
}

static bool has_control(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7F)
            return true;
    return false;
}

static enum err_code read_name(struct queue_read *r, const struct queue_key *key,
                               struct slice value)
{
    struct quote quote;

    if (read_text(r, key, value) != E_OK)
        return r->err->code;
    struct slice name = *(struct slice *)field(r, key);

    if (has_control(name) || memchr(name.data, ':', name.size) || memchr(name.data, '/', name.size))
        return err_set(r->err, E_INVALID, "%s is not a user's name", quote_text(&quote, name));
    return E_OK;
}

static enum err_code read_path(struct queue_read *r, const struct queue_key *key,
                               struct slice value)
{
    struct quote quote;

    if (read_text(r, key, value) != E_OK)
        return r->err->code;
    struct slice path = *(struct slice *)field(r, key);

    if (path.data[0] != '/' || has_control(path))
        return err_set(r->err, E_INVALID, "must be an absolute path, not %s",
                       quote_text(&quote, path));
    return E_OK;
}

/* ---- commands ---- */

static enum err_code check_script(struct queue_read *r, struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (strchr(" \t\r\n", text.data[i]) == NULL)
            return E_OK;
    return err_set(r->err, E_INVALID, "must not be empty");
}

static enum err_code add_arguments(struct queue_read *r, struct slice array, size_t *size,
                                   struct buf *out)
{
    size_t count = 0;
    struct slice item;

    buf_add_char(out, '[');
    for (struct json_iter it = json_items(array); json_next_item(&it, &item); count++) {
        struct quote quote;

        r->fault_at = item.data;
        if (json_type_of(item) != JSON_T_STRING)
            return err_set(r->err, E_INVALID, "its parts must be texts, not %s (put it in quotes)",
                           quote_json(&quote, item));
        struct slice text = json_text(item, r->arena);

        if (count == 0 && text.size == 0)
            return err_set(r->err, E_INVALID, "must begin with the name of a program");
        if (count == COMMAND_ARGS_MAX)
            return err_set(r->err, E_INVALID, "must have at most %d parts", COMMAND_ARGS_MAX);
        *size += text.size + 1;
        json_add_comma(out);
        json_add_string(out, text);
    }
    r->fault_at = NULL;
    buf_add_char(out, ']');
    return count > 0 ? E_OK : err_set(r->err, E_INVALID, "must name a program");
}

static enum err_code add_command(struct queue_read *r, struct slice value, size_t *size,
                                 struct buf *out)
{
    struct quote quote;

    switch (json_type_of(value)) {
    case JSON_T_STRING: {
        struct slice text = json_text(value, r->arena);

        *size = text.size;
        json_add_string(out, text);
        return check_script(r, text);
    }
    case JSON_T_ARRAY: return add_arguments(r, value, size, out);
    case JSON_T_NULL:
    case JSON_T_FALSE:
    case JSON_T_TRUE:
    case JSON_T_INT:
    case JSON_T_REAL:
    case JSON_T_OBJECT: break;
    }
    return err_set(r->err, E_INVALID, "must be a text or a list of texts, not %s%s",
                   quote_json(&quote, value),
                   json_type_of(value) == JSON_T_OBJECT ? " (put it in quotes)" : "");
}

/* What is wrong with the command's names, as an error or as a note. */
static enum err_code template_wrong(struct queue_read *r, const struct err *why)
{
    if (r->stored) {
        r->def->fault = arena_copy(r->arena, slice_of(why->msg));
        return E_OK;
    }
    *r->err = *why;
    return why->code;
}

static enum err_code read_template(struct queue_read *r, struct slice value)
{
    struct template_command *t = arena_zalloc(r->arena, sizeof(*t));
    struct err why = ERR_INIT;
    struct template_fault fault;

    if (template_command_parse(value, r->arena, t, &fault, &why) != E_OK) {
        r->fault_at = r->stored ? NULL : fault.at;
        return template_wrong(r, &why);
    }
    r->def->template = t;
    return E_OK;
}

static const struct template_part *name_of_job(const struct template_command *c)
{
    for (size_t i = 0; i < c->n_args; i++)
        for (size_t k = 0; k < c->args[i].n_parts; k++)
            if (c->args[i].parts[k].named && !slice_is(c->args[i].parts[k].text, "queue"))
                return &c->args[i].parts[k];
    return NULL;
}

enum err_code queue_value_check_resident(struct queue_read *r)
{
    const struct template_command *c = r->def->template;
    const struct template_part *part = r->def->resident && c != NULL ? name_of_job(c) : NULL;
    struct err why = ERR_INIT;

    if (part == NULL)
        return E_OK;
    err_set(&why, E_INVALID,
            "command: {%.*s} cannot be filled in: a resident program is started before it gets a "
            "job, which comes on its standard input",
            (int)part->text.size, part->text.data);
    return template_wrong(r, &why);
}

static enum err_code read_command(struct queue_read *r, const struct queue_key *key,
                                  struct slice value)
{
    CLEANUP(buf) struct buf out = BUF_INIT(value.size * 6 + 2); /* every byte escaped */
    size_t size = 0;

    if (add_command(r, value, &size, &out) != E_OK)
        return r->err->code;
    if (size > (size_t)key->max)
        return err_set(r->err, E_INVALID, "must have at most %" PRId64 " bytes, not %zu", key->max,
                       size);
    ASSERT(!out.overflowed);
    *(struct slice *)field(r, key) = arena_copy(r->arena, buf_slice(&out));
    return read_template(r, value);
}

enum err_code queue_value_read(struct queue_read *r, const struct queue_key *key,
                               struct slice value)
{
    static enum err_code (*const read[QUEUE_KEY_KINDS])(struct queue_read *,
                                                        const struct queue_key *, struct slice) = {
        [QUEUE_KEY_COMMAND] = read_command,   [QUEUE_KEY_TEXT] = read_text,
        [QUEUE_KEY_NAME] = read_name,         [QUEUE_KEY_PATH] = read_path,
        [QUEUE_KEY_COUNT] = read_count,       [QUEUE_KEY_NUMBER] = read_number,
        [QUEUE_KEY_NICE] = read_nice,         [QUEUE_KEY_REAL] = read_real,
        [QUEUE_KEY_LENGTH] = read_length,     [QUEUE_KEY_SIZE] = read_size,
        [QUEUE_KEY_BOOL] = read_bool,         [QUEUE_KEY_EXITS] = queue_exits_read,
        [QUEUE_KEY_DESTS] = queue_dests_read, [QUEUE_KEY_TOPICS] = queue_topics_read,
        [QUEUE_KEY_ENV] = queue_env_read,
    };

    ASSERT(key->kind < QUEUE_KEY_KINDS && read[key->kind] != NULL);
    return read[key->kind](r, key, value);
}

/* ---- writing ---- */

/* The shortest text that reads back as the same number. */
static void write_real(double n, struct buf *out)
{
    char text[32];

    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, n);
        if (strtod(text, NULL) == n)
            break;
    }
    buf_add_str(out, text);
}

void queue_value_write(const struct queue_def *def, const struct queue_key *key, struct buf *out)
{
    const void *at = field_of(def, key);
    char length[DURATION_TEXT_SIZE];
    char size[SIZE_TEXT_SIZE];

    switch (key->kind) {
    case QUEUE_KEY_COMMAND:
    case QUEUE_KEY_ENV: buf_add_slice(out, *(const struct slice *)at); break;
    case QUEUE_KEY_TEXT:
    case QUEUE_KEY_NAME:
    case QUEUE_KEY_PATH: json_add_string(out, *(const struct slice *)at); break;
    case QUEUE_KEY_COUNT: buf_add_int(out, *(const int *)at); break;
    case QUEUE_KEY_NUMBER:
    case QUEUE_KEY_NICE: buf_add_int(out, *(const int64_t *)at); break;
    case QUEUE_KEY_REAL: write_real(*(const double *)at, out); break;
    case QUEUE_KEY_LENGTH:
        json_add_string(out, slice_of(duration_format(*(const int64_t *)at, length)));
        break;
    case QUEUE_KEY_SIZE:
        json_add_string(out, slice_of(size_format(*(const int64_t *)at, size)));
        break;
    case QUEUE_KEY_BOOL: json_add_bool(out, *(const bool *)at); break;
    case QUEUE_KEY_DESTS: dest_list_json(at, out); break;
    case QUEUE_KEY_TOPICS: queue_topics_write(def, out); break;
    case QUEUE_KEY_EXITS: queue_exits_write(&def->retry, out); break;
    case QUEUE_KEY_OBJECT:
    case QUEUE_KEY_KINDS: ASSERT(!"objects are written by their members");
    }
}
