/* SPDX-License-Identifier: MIT */
#include "core/submit/job.h"

#include "base/id.h"
#include "base/jtext/jtext.h"
#include "base/text/base64.h"
#include "core/group/choice.h"
#include "core/job/job.h"
#include "core/object/object.h"
#include "core/object/quote.h"
#include "core/queue/def.h"
#include "core/submit/content_hash.h"
#include "core/submit/routing.h"

struct job_values {
    struct submit_item item;
    struct slice timeout, retry, needs, command; /* JSON as written; become `options` */
    struct slice workdir, env;                   /* of the command */
    struct routing_values routing;
    bool has_delay, has_due, has_redo;
};

/* ---- the fields of a job ---- */

static enum err_code check_right(struct object_read *r)
{
    const char *no_commands = ((const struct submit_source *)r->with)->no_commands;

    return no_commands == NULL ? E_OK : err_set(r->err, E_FORBIDDEN, "%s", no_commands);
}

enum err_code labels_read(struct object_read *r, const struct field *f, struct slice value)
{
    struct slice name;
    struct slice label;
    struct quote quote;
    size_t count = 0;

    if (jtext_type_of(value) != JTEXT_OBJECT)
        return object_must_be(r, "an object of strings", value);
    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &name, &label);
         count++) {
        quote_json(&quote, name);
        if (count == LABELS_MAX)
            return err_set(r->err, E_INVALID, "at most %d are allowed", LABELS_MAX);
        if (jtext_type_of(label) != JTEXT_STRING)
            return err_set(r->err, E_INVALID, "%s must be a string", quote.text);
        if (jtext_text(name, r->arena).size > LABEL_BYTES_MAX ||
            jtext_text(label, r->arena).size > LABEL_BYTES_MAX)
            return err_set(r->err, E_INVALID, "%s is longer than %d bytes", quote.text,
                           LABEL_BYTES_MAX);
    }
    *(struct slice *)(void *)((char *)r->to + f->offset) = value;
    return E_OK;
}

/* `body`, and `body_base64` whose bytes are decoded. */
enum err_code body_read(struct object_read *r, const struct field *f, struct slice value)
{
    struct slice *to = (struct slice *)(void *)((char *)r->to + f->offset);
    struct slice body = jtext_text(value, r->arena);

    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "a string", value);
    if (to->data != NULL)
        return err_set(r->err, E_INVALID, "body and body_base64 exclude each other");
    if (strcmp(f->name, "body_base64") == 0 && !base64_decode(body, r->arena, &body))
        return err_set(r->err, E_INVALID, "is not base64 (A-Z a-z 0-9 + / and = at the end)");
    if (body.size > JOB_BYTES_MAX)
        return err_set(r->err, E_INVALID, "must have at most %zu bytes, not %zu", JOB_BYTES_MAX,
                       body.size);
    *to = slice_make(body.data == NULL ? "" : body.data, body.size);
    return E_OK;
}

/* Checked here, kept as written: the queue's values are not known yet. */
static enum err_code read_option(struct object_read *r, const struct field *f, struct slice value)
{
    *(struct slice *)(void *)((char *)r->to + f->offset) = value;
    return queue_def_value(r, f->name, value, NULL);
}

static enum err_code read_command(struct object_read *r, const struct field *f, struct slice value)
{
    return check_right(r) == E_OK ? read_option(r, f, value) : r->err->code;
}

/* Where and with which variables the job's own command runs: for the administrator, as that is. */
static enum err_code read_of_command(struct object_read *r, const struct field *f,
                                     struct slice value)
{
    if (check_right(r) != E_OK)
        return r->err->code;
    return queue_def_value(r, f->name, value, (struct slice *)(void *)((char *)r->to + f->offset));
}

/* A ref that could be an id would be read as one. */
static enum err_code check_ref(struct object_read *r, const struct field *f, struct slice value)
{
    int64_t id;

    (void)f;
    if (id_parse(((struct job_values *)r->to)->item.ref, &id))
        return object_must_be(r, "a name that cannot be an id", value);
    return E_OK;
}

static enum err_code check_topic(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    (void)value;
    if (!((const struct submit_source *)r->with)->emitted)
        return err_set(r->err, E_INVALID, "is for emitted jobs; POST /v1/topics/NAME publishes");
    return dest_name_check("topic", ((struct job_values *)r->to)->item.topic, r->err);
}

static object_check_fn check_whole;

static const struct field job_fields[] = {
    FIELD_TEXT("queue", job_values, item.queue, .min = 1, .max = QUEUE_NAME_MAX,
               .help = "Its queue; a job with steps has none."),
    FIELD_OBJECT("params", job_values, item.params, .null = true, .schema = "Params"),
    FIELD_TEXT("key", job_values, item.key, .null = true, .min = 1, .max = KEY_BYTES_MAX,
               .help = "The same key with the same content is the same job."),
    FIELD_INT("priority", job_values, item.priority, .null = true, .min = JOB_PRIORITY_MIN,
              .max = JOB_PRIORITY_MAX, .help = "Higher runs first (default 0)."),
    FIELD_LENGTH("delay", job_values, item.delay_us, FIELD_GIVEN(job_values, has_delay),
                 .null = true, .max = INT64_MAX, .help = "Start no earlier than this from now."),
    FIELD_TIME("due_at", job_values, item.due_at, FIELD_GIVEN(job_values, has_due), .null = true,
               .help = "Start no earlier than this."),
    FIELD_CUSTOM("expires", expires_read, FIELD_OFFSET(struct expires, job_values, item.expires),
                 .null = true, .schema = "{'type':['string','number']}",
                 .help = "Cancelled unless it has started by this instant, or within this length "
                         "of time; overrides the queue's."),
    FIELD_CUSTOM("labels", labels_read, FIELD_OFFSET(struct slice, job_values, item.labels),
                 .null = true, .schema = "Labels"),
    FIELD_CUSTOM("body", body_read, FIELD_OFFSET(struct slice, job_values, item.body), .null = true,
                 .schema = "Text", .help = "Data for the program, which it gets as a file."),
    FIELD_CUSTOM("body_base64", body_read, FIELD_OFFSET(struct slice, job_values, item.body),
                 .null = true, .schema = "Text", .help = "The body, when it is not text."),
    FIELD_CUSTOM("timeout", read_option, FIELD_OFFSET(struct slice, job_values, timeout),
                 .null = true, .schema = "Length",
                 .help = "Time limit of an attempt; overrides the queue's."),
    FIELD_CUSTOM("retry", read_option, FIELD_OFFSET(struct slice, job_values, retry), .null = true,
                 .schema = "Retry", .help = "Overrides the queue's, key by key."),
    FIELD_CUSTOM("needs", read_option, FIELD_OFFSET(struct slice, job_values, needs), .null = true,
                 .schema = "Needs", .help = "What it takes of resources, besides the queue's."),
    FIELD_CUSTOM("command", read_command, FIELD_OFFSET(struct slice, job_values, command),
                 .null = true, .schema = "Command",
                 .help = "Replaces the queue's command; administrators only."),
    FIELD_CUSTOM("workdir", read_of_command, FIELD_OFFSET(struct slice, job_values, workdir),
                 .null = true, .schema = "Text",
                 .help = "Working directory of the job's own command."),
    FIELD_CUSTOM("env", read_of_command, FIELD_OFFSET(struct slice, job_values, env), .null = true,
                 .schema = "Texts", .help = "Environment of the job's own command."),
    FIELD_JSON("steps", job_values, routing.steps, .null = true,
               .schema = "{'type':'array','items':{'$ref':'#/components/schemas/Step'}}"),
    FIELD_JSON("after", job_values, routing.after, .null = true, .schema = "After",
               .help = "Conditions that must be met before it starts."),
    FIELD_JSON("on_success", job_values, routing.on_success, .null = true,
               .schema = "Destinations"),
    FIELD_JSON("on_failure", job_values, routing.on_failure, .null = true,
               .schema = "Destinations"),
    FIELD_ID("parent", job_values, routing.parent, .null = true),
    FIELD_JSON("progress", job_values, routing.progress, .null = true,
               .schema = "{'type':'array','items':{'$ref':'#/components/schemas/StepStatus'}}",
               .help = "The record of steps that were run elsewhere."),
    FIELD_TEXT("ref", job_values, item.ref, .null = true, .min = 1, .max = REF_BYTES_MAX,
               .check = check_ref, .help = "Its name in `after` of other jobs of the same array."),
    FIELD_BOOL("redo", job_values, item.redo, FIELD_GIVEN(job_values, has_redo), .null = true,
               .help = "Runs the job of a known key again if it has ended."),
    FIELD_TEXT("topic", job_values, item.topic, .null = true, .min = 1, .max = TOPIC_NAME_MAX,
               .check = check_topic, .help = "For emitted jobs: the topic to publish to."),
    FIELD_CUSTOM("group", group_choice_read,
                 FIELD_OFFSET(const struct group_choice *, job_values, item.group), .null = true,
                 .schema = "GroupChoice",
                 .help = "The group it goes into: an id, or one to open (default: that of the job "
                         "that emits it)."),
};

const struct object job_object = {
    .what = "a job", .schema = "JobToAdd", OBJECT_FIELDS(job_fields), .check = check_whole};

/* ---- a job ---- */

static struct slice options_json(const struct job_values *job, struct arena *arena)
{
    const struct {
        const char *name;
        struct slice value;
    } parts[] = {{"timeout", job->timeout}, {"retry", job->retry},     {"needs", job->needs},
                 {"command", job->command}, {"workdir", job->workdir}, {"env", job->env}};
    size_t room = sizeof("{'timeout':,'retry':,'needs':,'command':,'workdir':,'env':}") +
                  job->timeout.size + job->retry.size + job->needs.size + job->command.size +
                  job->workdir.size + job->env.size;
    CLEANUP(buf) struct buf out = BUF_INIT(room);

    buf_add_char(&out, '{');
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i].value.size > 0)
            jtext_put_raw(&out, parts[i].name, parts[i].value);
    buf_add_char(&out, '}');
    return arena_copy(arena, buf_slice(&out));
}

static bool has_options(const struct job_values *job)
{
    return job->timeout.size + job->retry.size + job->needs.size + job->command.size > 0;
}

/* A publication has only what the jobs of its subscribers can get. */
static enum err_code check_published(const struct job_values *job, struct err *err)
{
    const struct submit_item *item = &job->item;

    if (item->queue.size > 0 || job->routing.steps.size > 0)
        return err_set(err, E_INVALID, "topic, queue and steps exclude each other");
    if (item->body.data != NULL || item->key.size > 0 || item->ref.size > 0 || job->has_delay ||
        job->has_due || job->has_redo || item->expires.at != 0 || item->expires.after_us != 0 ||
        routing_values_any(&job->routing) || has_options(job) ||
        job->workdir.size + job->env.size > 0)
        return err_set(err, E_INVALID,
                       "topic: a publication has only params, labels and a priority");
    return E_OK;
}

static enum err_code check_whole(struct object_read *r, struct slice value)
{
    const struct job_values *job = r->to;
    const struct submit_item *item = &job->item;
    bool routed = job->routing.steps.size > 0;
    const char *beside = job->workdir.size > 0 ? "workdir" : "env";

    (void)value;
    if (item->topic.size > 0)
        return check_published(job, r->err);
    if (routed && item->queue.size > 0)
        return err_set(r->err, E_INVALID,
                       "queue: a job with steps goes to the queues that they name");
    if (routed && job->command.size > 0)
        return err_set(r->err, E_INVALID,
                       "command: a job with steps runs the commands of its steps");
    if (!routed && item->queue.size == 0)
        return err_set(r->err, E_INVALID, "a job needs a 'queue'%s",
                       ((const struct submit_source *)r->with)->emitted ? ", 'steps' or a 'topic'"
                                                                        : " or 'steps'");
    if (job->command.size == 0 && job->workdir.size + job->env.size > 0)
        return err_set(r->err, E_INVALID,
                       "%s: needs a 'command' in the job; the queue's command uses the queue's %s",
                       beside, beside);
    if (job->has_delay && job->has_due)
        return err_set(r->err, E_INVALID, "delay and due_at exclude each other");
    return E_OK;
}

enum err_code job_read(struct object_read *r, void *to, struct slice value)
{
    const struct submit_source *source = r->with;
    struct job_values job = {.has_delay = false};
    struct submit_item *item = &job.item;
    void *outer = r->to;

    if (value.size > JOB_BYTES_MAX)
        return err_set(r->err, E_TOO_LARGE, "a job has %zu bytes, at most %zu are allowed",
                       value.size, JOB_BYTES_MAX);
    r->to = &job;
    enum err_code code = object_read(r, &job_object, value);

    r->to = outer;
    if (code != E_OK)
        return code;
    if (has_options(&job))
        item->options = options_json(&job, r->arena);
    if (routing_values_any(&job.routing) &&
        parse_routing(&job.routing, source, r->arena, item, r->err) != E_OK)
        return r->err->code;
    if (item->key.size > 0 || source->key.data != NULL)
        item->content = job.has_redo ? content_without_redo(value) : content_hash(value);
    *(struct submit_item *)to = *item;
    return E_OK;
}

enum err_code parse_job(struct slice object, const struct submit_source *source,
                        struct arena *arena, struct submit_item *item, struct err *err)
{
    struct object_read r = {.arena = arena, .err = err, .with = source};

    return job_read(&r, item, object);
}
