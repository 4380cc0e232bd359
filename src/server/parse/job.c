/* SPDX-License-Identifier: MIT */
#include "server/parse/job.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/text/base64.h"
#include "core/job/job.h"
#include "core/object/quote.h"
#include "core/queue/def.h"
#include "server/limits.h"
#include "server/parse/bill.h"
#include "server/parse/content_hash.h"
#include "server/parse/fields.h"

/* The raw values of the fields that go into `options`. */
struct option_values {
    struct slice timeout, retry, command;
    struct slice workdir, env; /* of the command */
};

struct job_reader {
    struct submit_item *item;
    struct option_values options;
    struct bill_values bill;
    bool has_delay, has_due;
    bool has_redo;
    bool emitted;
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

static enum err_code set_body(struct field_reader *r, struct slice body, struct slice *ret_body)
{
    if (ret_body->data != NULL)
        return err_set(r->err, E_INVALID, "body and body_base64 exclude each other");
    *ret_body = slice_make(body.data == NULL ? "" : body.data, body.size);
    return E_OK;
}

enum err_code parse_body(struct field_reader *r, struct slice value, struct slice *ret_body)
{
    struct slice text;

    if (field_text(r, value, 0, JOB_BYTES_MAX, &text) != E_OK)
        return r->err->code;
    return set_body(r, text, ret_body);
}

enum err_code parse_body_base64(struct field_reader *r, struct slice value, struct slice *ret_body)
{
    struct slice text;
    struct slice bytes;

    if (field_text(r, value, 0, JOB_BYTES_MAX, &text) != E_OK)
        return r->err->code;
    if (!base64_decode(text, r->arena, &bytes))
        return err_set(r->err, E_INVALID,
                       "body_base64: is not base64 (A-Z a-z 0-9 + / and = at the end)");
    return set_body(r, bytes, ret_body);
}

static enum err_code read_body(struct field_reader *r, struct slice value)
{
    return parse_body(r, value, &item_of(r)->body);
}

static enum err_code read_body_base64(struct field_reader *r, struct slice value)
{
    return parse_body_base64(r, value, &item_of(r)->body);
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
        return own_command_forbidden("command", r->err);
    if (json_type_of(value) == JSON_T_ARRAY)
        return check_command_words(r, value);
    struct slice text;

    return field_text(r, value, 1, JOB_BYTES_MAX, &text);
}

/* Where and with which variables the job's own command runs: of the administrator's, as that is. */
static enum err_code read_surroundings(struct field_reader *r, const char *name, struct slice value,
                                       struct slice *ret_json)
{
    const struct submit_source *source = r->with;

    if (source->right != RIGHT_ADMIN)
        return own_command_forbidden(name, r->err);
    if (queue_def_value(name, value, r->arena, ret_json, r->err) != E_OK)
        return err_wrap(r->err, "%s", name);
    return E_OK;
}

static enum err_code read_workdir(struct field_reader *r, struct slice value)
{
    return read_surroundings(r, "workdir", value, &((struct job_reader *)r->to)->options.workdir);
}

static enum err_code read_env(struct field_reader *r, struct slice value)
{
    return read_surroundings(r, "env", value, &((struct job_reader *)r->to)->options.env);
}

/* ---- what few jobs have ---- */

static enum err_code read_steps(struct field_reader *r, struct slice value)
{
    ((struct job_reader *)r->to)->bill.steps = value;
    return E_OK;
}

static enum err_code read_progress(struct field_reader *r, struct slice value)
{
    ((struct job_reader *)r->to)->bill.progress = value;
    return E_OK;
}

static enum err_code read_after(struct field_reader *r, struct slice value)
{
    ((struct job_reader *)r->to)->bill.after = value;
    return E_OK;
}

static enum err_code read_on_success(struct field_reader *r, struct slice value)
{
    ((struct job_reader *)r->to)->bill.on_success = value;
    return E_OK;
}

static enum err_code read_on_failure(struct field_reader *r, struct slice value)
{
    ((struct job_reader *)r->to)->bill.on_failure = value;
    return E_OK;
}

static enum err_code read_parent(struct field_reader *r, struct slice value)
{
    return field_id(r, value, &((struct job_reader *)r->to)->bill.parent);
}

/* One that could be an id would be taken for one. */
static enum err_code read_ref(struct field_reader *r, struct slice value)
{
    struct submit_item *item = item_of(r);
    int64_t id;

    if (field_text(r, value, 1, REF_BYTES_MAX, &item->ref) != E_OK)
        return r->err->code;
    if (id_parse(item->ref, &id))
        return field_refuse(r, "a name that cannot be an id", value);
    return E_OK;
}

static enum err_code read_redo(struct field_reader *r, struct slice value)
{
    ((struct job_reader *)r->to)->has_redo = true;
    return field_bool(r, value, &item_of(r)->redo);
}

static enum err_code read_topic(struct field_reader *r, struct slice value)
{
    struct submit_item *item = item_of(r);

    if (!((struct job_reader *)r->to)->emitted)
        return err_set(r->err, E_INVALID,
                       "topic: is for jobs that are emitted; POST /v1/topics/NAME publishes");
    if (field_text(r, value, 1, TOPIC_NAME_MAX, &item->topic) != E_OK)
        return r->err->code;
    return dest_name_check("topic", item->topic, r->err);
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
    {FIELD("workdir"), .read = read_workdir, .null = true},
    {FIELD("env"), .read = read_env, .null = true},
    {FIELD("steps"), .read = read_steps, .null = true},
    {FIELD("after"), .read = read_after, .null = true},
    {FIELD("on_success"), .read = read_on_success, .null = true},
    {FIELD("on_failure"), .read = read_on_failure, .null = true},
    {FIELD("parent"), .read = read_parent, .null = true},
    {FIELD("progress"), .read = read_progress, .null = true},
    {FIELD("ref"), .read = read_ref, .null = true},
    {FIELD("redo"), .read = read_redo, .null = true},
    {FIELD("topic"), .read = read_topic, .null = true},
    {FIELD("group")},
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

static struct slice options_json(const struct option_values *o, struct arena *arena)
{
    const struct {
        const char *name;
        struct slice value;
    } parts[] = {{"\"timeout\":", o->timeout},
                 {"\"retry\":", o->retry},
                 {"\"command\":", o->command},
                 {"\"workdir\":", o->workdir},
                 {"\"env\":", o->env}};
    size_t room = sizeof("{}") +
                  sizeof("\"timeout\":,\"retry\":,\"command\":,\"workdir\":,\"env\":") +
                  o->timeout.size + o->retry.size + o->command.size + o->workdir.size + o->env.size;
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

/* What is published has no more than its subscribers' jobs can be given. */
static enum err_code check_published(const struct job_reader *job, struct err *err)
{
    const struct submit_item *item = job->item;
    const struct option_values *o = &job->options;

    if (item->queue.size > 0 || job->bill.steps.size > 0)
        return err_set(err, E_INVALID, "topic, queue and steps exclude each other");
    if (item->body.data != NULL || item->key.size > 0 || item->ref.size > 0 || job->has_delay ||
        job->has_due || job->has_redo || bill_values_any(&job->bill) ||
        o->timeout.size + o->retry.size + o->command.size + o->workdir.size + o->env.size > 0)
        return err_set(err, E_INVALID,
                       "topic: what is published has params, labels and a priority, nothing else");
    return E_OK;
}

static enum err_code check_routed(const struct job_reader *job, struct err *err)
{
    if (job->item->queue.size > 0)
        return err_set(err, E_INVALID, "queue: a job with steps goes to the queues that they name");
    if (job->options.command.size > 0)
        return err_set(err, E_INVALID, "command: a job with steps runs the commands of its steps");
    return E_OK;
}

static enum err_code check_whole(const struct job_reader *job, struct err *err)
{
    if (job->item->topic.size > 0)
        return check_published(job, err);
    if (job->bill.steps.size > 0 && check_routed(job, err) != E_OK)
        return err->code;
    if (job->bill.steps.size == 0 && job->item->queue.size == 0)
        return err_set(err, E_INVALID, "a job needs a 'queue'%s",
                       job->emitted ? ", 'steps' or a 'topic'" : " or 'steps'");
    if (job->options.command.size == 0 && job->options.workdir.size + job->options.env.size > 0)
        return err_set(err, E_INVALID,
                       "%s: goes with a command of the job's own; a queue has its own %s",
                       job->options.workdir.size > 0 ? "workdir" : "env",
                       job->options.workdir.size > 0 ? "workdir" : "env");
    if (job->has_delay && job->has_due)
        return err_set(err, E_INVALID, "delay and due_at exclude each other");
    return E_OK;
}

static bool has_options(const struct option_values *o)
{
    return o->timeout.size > 0 || o->retry.size > 0 || o->command.size > 0;
}

enum err_code parse_job(struct slice object, const struct submit_source *source,
                        struct arena *arena, struct submit_item *item, struct err *err)
{
    struct job_reader job = {.item = item, .emitted = source->emitted};
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
    if (bill_values_any(&job.bill) && parse_bill(&job.bill, source, arena, item, err) != E_OK)
        return err->code;
    if (item->key.size > 0 || source->key.data != NULL)
        item->content = job.has_redo ? content_without_redo(object) : content_hash(object);
    return E_OK;
}
