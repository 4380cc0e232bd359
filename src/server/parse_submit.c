/* SPDX-License-Identifier: MIT */
#include "server/parse_submit.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "core/job.h"
#include "core/queue_def.h"
#include "core/quote.h"
#include "server/fields.h"
#include "server/limits.h"

/* The raw values of the fields that go into `options`. */
struct option_values {
    struct slice timeout, retry, command;
};

struct job_reader {
    struct submit_item *item;
    struct option_values options;
    bool has_delay, has_due;
};

/* ---- the fields of a job ---- */

static struct submit_item *item_of(struct field_reader *r)
{
    return ((struct job_reader *)r->to)->item;
}

static enum err_code read_queue(struct field_reader *r, struct slice value)
{
    return field_text(r, value, 1, QUEUE_NAME_MAX, &item_of(r)->queue);
}

static enum err_code read_params(struct field_reader *r, struct slice value)
{
    return field_object(r, value, &item_of(r)->params);
}

static enum err_code read_labels(struct field_reader *r, struct slice value)
{
    if (labels_check(value, r->arena, r->err) != E_OK)
        return r->err->code;
    item_of(r)->labels = value;
    return E_OK;
}

static enum err_code set_body(struct field_reader *r, struct slice body)
{
    struct submit_item *item = item_of(r);

    if (item->body.data != NULL)
        return err_set(r->err, E_INVALID, "body and body_base64 exclude each other");
    item->body = slice_make(body.data == NULL ? "" : body.data, body.size);
    return E_OK;
}

static enum err_code read_body(struct field_reader *r, struct slice value)
{
    struct slice text;

    if (field_text(r, value, 0, JOB_BYTES_MAX, &text) != E_OK)
        return r->err->code;
    return set_body(r, text);
}

static enum err_code read_body_base64(struct field_reader *r, struct slice value)
{
    struct slice text;
    struct slice bytes;

    if (field_text(r, value, 0, JOB_BYTES_MAX, &text) != E_OK)
        return r->err->code;
    if (!base64_decode(text, r->arena, &bytes))
        return err_set(r->err, E_INVALID,
                       "body_base64: is not base64 (A-Z a-z 0-9 + / and = at the end)");
    return set_body(r, bytes);
}

static enum err_code read_key(struct field_reader *r, struct slice value)
{
    return field_text(r, value, 1, KEY_BYTES_MAX, &item_of(r)->key);
}

static enum err_code read_delay(struct field_reader *r, struct slice value)
{
    struct job_reader *job = r->to;

    job->has_delay = true;
    return field_length(r, value, 0, INT64_MAX, &job->item->delay_us);
}

static enum err_code read_due_at(struct field_reader *r, struct slice value)
{
    struct job_reader *job = r->to;

    job->has_due = true;
    return field_time(r, value, &job->item->due_at);
}

static enum err_code read_priority(struct field_reader *r, struct slice value)
{
    int64_t priority;

    if (field_int(r, value, JOB_PRIORITY_MIN, JOB_PRIORITY_MAX, &priority) != E_OK)
        return r->err->code;
    item_of(r)->priority = (int)priority;
    return E_OK;
}

static enum err_code read_timeout(struct field_reader *r, struct slice value)
{
    struct job_reader *job = r->to;
    int64_t timeout_us;

    job->options.timeout = value;
    return field_length(r, value, US_PER_MS, 10000 * US_PER_DAY, &timeout_us);
}

static enum err_code read_retry(struct field_reader *r, struct slice value)
{
    struct job_reader *job = r->to;
    struct retry_policy policy;

    job->options.retry = value;
    return retry_policy_parse(value, &RETRY_POLICY_DEFAULT, &policy, r->err);
}

static enum err_code check_command_words(struct field_reader *r, struct slice value)
{
    struct slice word;
    size_t count = 0;

    for (struct json_iter it = json_items(value); json_next_item(&it, &word); count++)
        if (json_type_of(word) != JSON_T_STRING || count >= COMMAND_ARGS_MAX ||
            (count == 0 && word.size == 2))
            return field_refuse(r, "a string or an array of strings", word);
    if (count == 0)
        return err_set(r->err, E_INVALID, "command: must not be empty");
    return E_OK;
}

static enum err_code read_command(struct field_reader *r, struct slice value)
{
    const struct submit_source *source = r->with;
    struct job_reader *job = r->to;

    job->options.command = value;
    if (source->right != RIGHT_ADMIN)
        return err_set(
            r->err, E_FORBIDDEN,
            "command: a job that brings its own command is for the administrator: use the "
            "Unix socket in the data directory, or send the token (Authorization: Bearer TOKEN)");
    if (json_type_of(value) == JSON_T_ARRAY)
        return check_command_words(r, value);
    struct slice text;

    return field_text(r, value, 1, JOB_BYTES_MAX, &text);
}

static const struct field job_fields[] = {
    {FIELD("queue"), .read = read_queue},
    {FIELD("params"), .read = read_params, .null = true},
    {FIELD("key"), .read = read_key, .null = true},
    {FIELD("priority"), .read = read_priority, .null = true},
    {FIELD("delay"), .read = read_delay, .null = true},
    {FIELD("due_at"), .read = read_due_at, .null = true},
    {FIELD("labels"), .read = read_labels, .null = true},
    {FIELD("body"), .read = read_body, .null = true},
    {FIELD("body_base64"), .read = read_body_base64, .null = true},
    {FIELD("timeout"), .read = read_timeout, .null = true},
    {FIELD("retry"), .read = read_retry, .null = true},
    {FIELD("command"), .read = read_command, .null = true},
    {FIELD("group")},
    {FIELD("parent")},
    {FIELD("after")},
    {FIELD("steps")},
    {FIELD("progress")},
};

/* ---- labels ---- */

enum err_code labels_check(struct slice value, struct arena *arena, struct err *err)
{
    struct slice name;
    struct slice label;
    struct quote quote;
    size_t count = 0;

    if (json_type_of(value) != JSON_T_OBJECT)
        return err_set(err, E_INVALID, "labels: must be an object of strings, not %s",
                       quote_json(&quote, value));
    for (struct json_iter it = json_members(value); json_next_member(&it, &name, &label); count++) {
        quote_json(&quote, name);
        if (count == LABELS_MAX)
            return err_set(err, E_INVALID, "labels: at most %d are allowed", LABELS_MAX);
        if (json_type_of(label) != JSON_T_STRING)
            return err_set(err, E_INVALID, "labels: %s must be a string", quote.text);
        if (json_text(name, arena).size > LABEL_BYTES_MAX ||
            json_text(label, arena).size > LABEL_BYTES_MAX)
            return err_set(err, E_INVALID, "labels: %s is longer than %d bytes", quote.text,
                           LABEL_BYTES_MAX);
    }
    return E_OK;
}

/* ---- a job ---- */

/* FNV-1a */
uint64_t content_hash(struct slice bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < bytes.size; i++)
        hash = (hash ^ (unsigned char)bytes.data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static struct slice options_json(const struct option_values *o, struct arena *arena)
{
    const struct {
        const char *name;
        struct slice value;
    } parts[] = {{"\"timeout\":", o->timeout},
                 {"\"retry\":", o->retry},
                 {"\"command\":", o->command}};
    size_t room = sizeof("{}") + sizeof("\"timeout\":,\"retry\":,\"command\":") + o->timeout.size +
                  o->retry.size + o->command.size;
    struct buf out = BUF_INIT(room);

    buf_add_char(&out, '{');
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i].value.size > 0) {
            json_add_comma(&out);
            buf_add_str(&out, parts[i].name);
            buf_add_slice(&out, parts[i].value);
        }
    buf_add_char(&out, '}');
    struct slice json = arena_copy(arena, buf_slice(&out));

    buf_deinit(&out);
    return json;
}

static enum err_code check_whole(const struct job_reader *job, struct err *err)
{
    if (job->item->queue.size == 0)
        return err_set(err, E_INVALID, "a job needs a 'queue'");
    if (job->has_delay && job->has_due)
        return err_set(err, E_INVALID, "delay and due_at exclude each other");
    return E_OK;
}

static bool has_options(const struct option_values *o)
{
    return o->timeout.size > 0 || o->retry.size > 0 || o->command.size > 0;
}

/* Into an item that is all zeros; on failure it holds what was read so far. */
static enum err_code parse_job(struct slice object, const struct submit_source *source,
                               struct arena *arena, struct submit_item *item, struct err *err)
{
    struct job_reader job = {.item = item};
    struct field_reader reader = {.fields = job_fields,
                                  .n_fields = ARRAY_LEN(job_fields),
                                  .what = "a job",
                                  .arena = arena,
                                  .err = err,
                                  .to = &job,
                                  .with = source};

    if (object.size > JOB_BYTES_MAX)
        return err_set(err, E_TOO_LARGE, "a job has %zu bytes, at most %zu are allowed",
                       object.size, JOB_BYTES_MAX);
    if (fields_read(&reader, object) != E_OK || check_whole(&job, err) != E_OK)
        return err->code;
    if (has_options(&job.options))
        item->options = options_json(&job.options, arena);
    if (item->key.size > 0)
        item->content = content_hash(object);
    return E_OK;
}

/* ---- the key of the request ---- */

static enum err_code set_key(struct submit_item *item, struct slice key, struct slice object,
                             struct err *err)
{
    if (key.size == 0 || key.size > KEY_BYTES_MAX || !utf8_valid(key))
        return err_set(err, E_INVALID, "Idempotency-Key: must be 1 to %d bytes of UTF-8",
                       KEY_BYTES_MAX);
    if (item->key.size > 0 && !slice_equal(item->key, key))
        return err_set(err, E_INVALID,
                       "the job has a 'key' of its own, which is not the Idempotency-Key");
    item->key = key;
    item->content = content_hash(object);
    return E_OK;
}

/* KEY/0, KEY/1, … */
static struct slice numbered_key(struct slice key, size_t index, struct arena *arena)
{
    char number[24];
    int n = snprintf(number, sizeof(number), "/%zu", index);
    char *text = arena_alloc(arena, key.size + (size_t)n);

    memcpy(text, key.data, key.size);
    memcpy(text + key.size, number, (size_t)n);
    return slice_make(text, key.size + (size_t)n);
}

/* ---- a request ---- */

static enum err_code parse_one(struct slice object, const struct submit_source *source,
                               struct arena *arena, struct submit *ret_submit, struct err *err)
{
    struct submit_item *item = arena_zalloc(arena, sizeof(*item));

    if (parse_job(object, source, arena, item, err) != E_OK)
        return err->code;
    if (source->key.data != NULL && set_key(item, source->key, object, err) != E_OK)
        return err->code;
    ret_submit->mode = SUBMIT_ONE;
    ret_submit->items = item;
    ret_submit->n_items = 1;
    return E_OK;
}

static enum err_code parse_of_array(struct slice object, size_t index,
                                    const struct submit_source *source, struct arena *arena,
                                    struct submit_item *item, struct err *err)
{
    if (parse_job(object, source, arena, item, err) != E_OK ||
        (source->key.data != NULL &&
         set_key(item, numbered_key(source->key, index, arena), object, err) != E_OK)) {
        (void)err_wrap(err, "job %zu of the array (from 0)", index);
        err->item = (unsigned)index + 1;
        return err->code;
    }
    return E_OK;
}

static enum err_code parse_array(struct slice array, const struct submit_source *source,
                                 struct arena *arena, struct submit *ret_submit, struct err *err)
{
    struct slice object;
    size_t index = 0;
    size_t count = json_count_items(array);

    if (count == 0)
        return err_set(err, E_INVALID, "the array is empty: there is no job in it");
    if (count > OP_ITEMS_MAX)
        return err_set(err, E_TOO_LARGE,
                       "%zu jobs in one array, at most %d are allowed: send application/x-ndjson",
                       count, OP_ITEMS_MAX);
    struct submit_item *items = arena_array(arena, count, sizeof(*items));

    for (struct json_iter it = json_items(array); json_next_item(&it, &object); index++)
        if (parse_of_array(object, index, source, arena, &items[index], err) != E_OK)
            return err->code;
    ret_submit->mode = SUBMIT_ARRAY;
    ret_submit->items = items;
    ret_submit->n_items = count;
    return E_OK;
}

enum err_code parse_jobs(struct field_reader *r, struct slice value,
                         const struct submit_item **ret_items, size_t *ret_count)
{
    struct slice object;
    size_t index = 0;

    if (json_type_of(value) != JSON_T_ARRAY)
        return field_refuse(r, "an array of jobs", value);
    size_t count = json_count_items(value);

    if (count > OP_EMIT_MAX)
        return err_set(r->err, E_TOO_LARGE, "%s: has %zu jobs, at most %d are allowed", r->name,
                       count, OP_EMIT_MAX);
    struct submit_item *items = arena_array(r->arena, count + 1, sizeof(*items));

    for (struct json_iter it = json_items(value); json_next_item(&it, &object); index++)
        if (parse_job(object, r->with, r->arena, &items[index], r->err) != E_OK) {
            (void)err_wrap(r->err, "%s[%zu]", r->name, index);
            r->err->item = (unsigned)index + 1;
            return r->err->code;
        }
    *ret_items = items;
    *ret_count = count;
    return E_OK;
}

enum err_code parse_submit(struct slice text, const struct submit_source *source,
                           struct arena *arena, struct submit *ret_submit, struct err *err)
{
    struct slice value;
    struct quote quote;

    if (json_check(text, &value, err) != E_OK)
        return err->code;
    switch (json_type_of(value)) {
    case JSON_T_OBJECT: return parse_one(value, source, arena, ret_submit, err);
    case JSON_T_ARRAY: return parse_array(value, source, arena, ret_submit, err);
    case JSON_T_NULL:
    case JSON_T_FALSE:
    case JSON_T_TRUE:
    case JSON_T_INT:
    case JSON_T_REAL:
    case JSON_T_STRING: break;
    }
    return err_set(err, E_INVALID, "the body must be a job (an object) or an array of jobs, not %s",
                   quote_json(&quote, value));
}

void parse_submit_line(struct slice line, const struct submit_source *source, struct arena *arena,
                       struct submit_item *item)
{
    struct err *err = &item->parse_err;
    struct slice value;

    if (json_check(line, &value, err) == E_OK)
        (void)parse_job(value, source, arena, item, err);
}
