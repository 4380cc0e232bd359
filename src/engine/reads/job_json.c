/* SPDX-License-Identifier: MIT */
#include "engine/reads/job_json.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/text/base64.h"
#include "engine/batch/names.h"

/* Long escapes in a body that is shown as text: this many, and one in ESCAPES_SHARE bytes. */
enum { ESCAPES_FREE = 64, ESCAPES_SHARE = 16 };

void jtext_add_id(struct buf *b, const char *key, int64_t id)
{
    char text[ID_TEXT_SIZE];

    jtext_add_key(b, key);
    buf_add_char(b, '"');
    buf_add_str(b, id_format(id, text));
    buf_add_char(b, '"');
}

void jtext_add_lease(struct buf *b, int64_t id, struct slice lease)
{
    jtext_add_comma(b);
    buf_add_char(b, '{');
    jtext_add_id(b, "id", id);
    jtext_put_string(b, "lease", lease);
    buf_add_char(b, '}');
}

void jtext_add_error(struct buf *b, const struct err *err)
{
    buf_add_char(b, '{');
    jtext_put_string(b, "code", slice_of(err_name(err->code)));
    jtext_put_string(b, "message", slice_of(err->msg));
    buf_add_char(b, '}');
}

/* Our JSON strings must not contain NUL; and base64 is shorter where many bytes need an escape of
 * six. */
static bool is_text(struct slice body)
{
    size_t escapes = 0;

    for (size_t i = 0; i < body.size; i++) {
        char c = body.data[i];

        escapes += (unsigned char)c < 0x20 && c != '\n' && c != '\r' && c != '\t';
    }
    return escapes <= ESCAPES_FREE + body.size / ESCAPES_SHARE &&
           memchr(body.data, '\0', body.size) == NULL && utf8_valid(body);
}

void jtext_add_body(struct buf *b, struct slice body)
{
    if (body.data == NULL)
        return;
    if (is_text(body)) {
        jtext_put_string(b, "body", body);
        return;
    }
    jtext_add_key(b, "body_base64");
    buf_add_char(b, '"');
    base64_add(b, body);
    buf_add_char(b, '"');
}

static void add_members(struct buf *b, struct slice object, jtext_keeps_fn *keeps, void *ctx)
{
    struct slice key;
    struct slice value;

    if (object.size == 0)
        return;
    for (struct jtext_iter it = jtext_members(object); jtext_next_member(&it, &key, &value);) {
        if (keeps != NULL && !keeps(ctx, key))
            continue;
        jtext_add_comma(b);
        buf_add_slice(b, key);
        buf_add_char(b, ':');
        buf_add_slice(b, value);
    }
}

void jtext_add_kept(struct buf *b, struct slice object, jtext_keeps_fn *keeps, void *ctx)
{
    buf_add_char(b, '{');
    add_members(b, object, keeps, ctx);
    buf_add_char(b, '}');
}

struct replaced {
    struct names names;
    struct arena arena;
};

static bool is_not_replaced(void *ctx, struct slice key)
{
    struct replaced *r = ctx;

    return names_find(&r->names, jtext_text(key, &r->arena)) == NULL;
}

void jtext_add_merged(struct buf *b, struct slice base, struct slice over)
{
    struct replaced r = {.names = NAMES_INIT, .arena = ARENA_INIT};
    struct slice key;
    struct slice value;

    for (struct jtext_iter it = jtext_members(over.size > 0 ? over : SLICE("{}"));
         jtext_next_member(&it, &key, &value);)
        names_add(&r.names, jtext_text(key, &r.arena), &r);
    buf_add_char(b, '{');
    add_members(b, base, is_not_replaced, &r);
    add_members(b, over, NULL, NULL);
    buf_add_char(b, '}');
    names_deinit(&r.names);
    arena_deinit(&r.arena);
}

static void add_raw(struct buf *b, const char *key, struct slice json)
{
    if (json.size > 0)
        jtext_put_raw(b, key, json);
}

static void add_text(struct buf *b, const char *key, struct slice text)
{
    if (text.size > 0)
        jtext_put_string(b, key, text);
}

static void add_time(struct buf *b, const char *key, int64_t at)
{
    if (at != 0)
        jtext_put_time(b, key, at);
}

/* timeout, retry, command: a checked object as submitted, without white space around it. */
static void add_options(struct buf *b, struct slice options)
{
    if (options.size <= 2)
        return;
    jtext_add_comma(b);
    buf_add(b, options.data + 1, options.size - 2);
}

void jtext_add_job_url(struct buf *b, const char *url, int64_t id)
{
    char text[ID_TEXT_SIZE];

    if (url == NULL)
        return;
    jtext_add_key(b, "url");
    buf_add_char(b, '"');
    buf_add_str(b, url);
    buf_add_str(b, "/v1/jobs/");
    buf_add_str(b, id_format(id, text));
    buf_add_char(b, '"');
}

void jtext_add_grant(struct buf *b, const struct job *j, struct slice queue)
{
    jtext_add_comma(b);
    buf_add_str(b, "\"queue\":");
    jtext_add_string(b, queue);
    add_time(b, "lease_until", j->lease_until_at);
}

/* The numbers that every claimed job has, in one call: it runs for each grant. */
static void add_claimed_numbers(struct buf *b, const struct job *j)
{
    char created[TIME_TEXT_SIZE];

    buf_add_str(b, ",\"attempt\":");
    buf_add_int(b, j->attempt);
    buf_add_str(b, ",\"priority\":");
    buf_add_int(b, j->priority);
    buf_add_str(b, ",\"created_at\":\"");
    buf_add_str(b, time_format(job_created_at(j), created));
    buf_add_char(b, '"');
}

void jtext_add_claimed(struct buf *b, const struct job *j, const struct claimed_texts *texts)
{
    char id[ID_TEXT_SIZE];

    id_format(j->id.v, id);
    buf_add_str(b, "{\"id\":\"");
    buf_add(b, id, ID_TEXT_SIZE - 1);
    buf_add_str(b, "\",\"lease\":\"");
    buf_add_slice(b, texts->lease);
    buf_add_str(b, "\",");
    buf_add_slice(b, texts->grant);
    add_claimed_numbers(b, j);
    buf_add_str(b, ",\"params\":");
    buf_add_slice(b, j->params.size > 0 ? j->params : SLICE("{}"));
    add_text(b, "key", j->key);
    jtext_add_body(b, j->body);
    add_raw(b, "labels", j->labels);
    add_options(b, j->options);
    add_raw(b, "cursor", j->cursor);
    if (texts->group.size > 0) {
        jtext_add_comma(b);
        buf_add_slice(b, texts->group);
    }
    if (texts->more.size > 0) {
        jtext_add_comma(b);
        buf_add_slice(b, texts->more);
    }
    if (j->lost > 0)
        jtext_put_int(b, "lost", j->lost);
    if (j->log_size > 0)
        jtext_put_int(b, "log_size", j->log_size);
    if (texts->url != NULL) {
        buf_add_str(b, ",\"url\":\"");
        buf_add_str(b, texts->url);
        buf_add_str(b, "/v1/jobs/");
        buf_add(b, id, ID_TEXT_SIZE - 1);
        buf_add_char(b, '"');
    }
    buf_add_char(b, '}');
}

static void add_ending(struct buf *b, const struct job *j)
{
    if (j->cause != JOB_CAUSE_NONE)
        jtext_put_string(b, "cause", slice_of(job_cause_name(j->cause)));
    if (j->exited)
        jtext_put_int(b, "exit", j->exit);
    if (job_state_ended(j->state))
        add_time(b, "finished_at", j->finished_at);
    add_raw(b, "result", j->result);
}

/* "NAME":{"size","start"} of a value that is too large for a list. */
static void add_cut_value(struct buf *b, const char *name, const struct job_cut_value *v)
{
    if (v->size == 0)
        return;
    jtext_add_key(b, name);
    buf_add_char(b, '{');
    jtext_put_int(b, "size", v->size);
    jtext_put_string(b, "start", v->start);
    buf_add_char(b, '}');
}

static void add_cut(struct buf *b, const struct job_cut *cut)
{
    if (cut == NULL ||
        cut->params.size + cut->labels.size + cut->options.size + cut->result.size == 0)
        return;
    jtext_add_key(b, "cut");
    buf_add_char(b, '{');
    add_cut_value(b, "params", &cut->params);
    add_cut_value(b, "labels", &cut->labels);
    add_cut_value(b, "options", &cut->options);
    add_cut_value(b, "result", &cut->result);
    buf_add_char(b, '}');
}

void jtext_add_job_fields(struct buf *b, const struct job *j, struct slice queue)
{
    jtext_add_id(b, "id", j->id.v);
    jtext_put_string(b, "queue", queue);
    jtext_put_string(b, "state", slice_of(job_state_name(j->state)));
    jtext_put_int(b, "priority", j->priority);
    jtext_put_int(b, "attempt", j->attempt);
    jtext_put_int(b, "lost", j->lost);
    if (j->laters > 0)
        jtext_put_int(b, "laters", j->laters);
    add_time(b, "created_at", job_created_at(j));
    add_time(b, "due_at", j->due_at);
    add_time(b, "started_at", j->started_at);
    add_text(b, "key", j->key);
    if (j->cut == NULL || j->cut->params.size == 0)
        add_raw(b, "params", j->params.size > 0 ? j->params : SLICE("{}"));
    jtext_add_body(b, j->body);
    add_raw(b, "labels", j->labels);
    add_options(b, j->options);
    add_cut(b, j->cut);
    add_text(b, "text", j->text);
    if (j->done != 0 || j->total != 0) {
        jtext_put_int(b, "done", j->done);
        jtext_put_int(b, "total", j->total);
        add_text(b, "unit", j->unit);
    }
    if (j->state == JOB_RUNNING) {
        add_time(b, "lease_until", j->lease_until_at);
        add_time(b, "expected_at", j->expected_at);
    }
    if (j->cancelling)
        jtext_put_bool(b, "cancelling", true);
    add_ending(b, j);
}

/* Members of the routing that are shown as they are kept. */
static const char *const routing_members[] = {"steps", "on_success", "on_failure", "after"};

void jtext_add_routing(struct buf *b, const struct job *j, bool whole)
{
    struct slice value;

    if (j->step > 0 && !job_state_ended(j->state))
        jtext_put_int(b, "step", j->step);
    if (j->failed_step > 0)
        jtext_put_int(b, "failed_step", j->failed_step);
    if (j->routing.size == 0)
        return;
    for (size_t i = 0; whole && i < ARRAY_LEN(routing_members); i++)
        if (jtext_find(j->routing, routing_members[i], &value))
            jtext_put_raw(b, routing_members[i], value);
    if (whole)
        add_raw(b, "set", j->assigned);
    if (jtext_find(j->routing, "parent", &value))
        jtext_put_raw(b, "parent", value);
    if (jtext_find(j->routing, "topic", &value))
        jtext_put_raw(b, "topic", value);
}

void jtext_add_progress(struct buf *b, const struct progress_entry *e, struct slice name,
                        struct slice queue, struct slice worker)
{
    buf_add_char(b, '{');
    jtext_put_int(b, "number", e->number);
    jtext_put_string(b, "name", name);
    jtext_put_string(b, "queue", queue);
    jtext_put_int(b, "attempt", e->attempt);
    jtext_put_string(b, "state", slice_of(job_outcome_name(e->outcome)));
    jtext_add_key(b, "status");
    if (e->exited)
        buf_add_int(b, e->exit);
    else if (e->outcome == JOB_OUT_DONE)
        buf_add_int(b, 0);
    else
        buf_add_str(b, "null");
    if (e->cause != JOB_CAUSE_NONE)
        jtext_put_string(b, "cause", slice_of(job_cause_name(e->cause)));
    add_time(b, "started_at", e->started_at);
    add_time(b, "ended_at", e->ended_at);
    add_text(b, "worker", worker);
    add_text(b, "text", e->text);
    add_raw(b, "set", e->set);
    buf_add_char(b, '}');
}
