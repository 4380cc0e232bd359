/* SPDX-License-Identifier: MIT */
#include "cli/view/job_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/text/utf8.h"
#include "cli/view/command_text.h"
#include "cli/view/reply_json.h"
#include "cli/view/route_view.h"
#include "core/job/retry.h"
#include "core/job/state.h"
#include "core/job/verdict.h"

#define VALUE_MAX ((size_t)64 << 10) /* a larger one is cut */
#define LINE_MAX_SIZE (VALUE_MAX + 4096)
#define BODY_SHOWN 2000 /* of the body, and of values that are cut */
#define NAME_WIDTH 11

enum colour state_colour(const char *state)
{
    static const enum colour colours[JOB_STATE_COUNT] = {
        [JOB_STAGED] = COLOUR_DIM,    [JOB_HELD] = COLOUR_YELLOW,   [JOB_SCHEDULED] = COLOUR_YELLOW,
        [JOB_RUNNING] = COLOUR_BLUE,  [JOB_DONE] = COLOUR_GREEN,    [JOB_FAILED] = COLOUR_RED,
        [JOB_CANCELLED] = COLOUR_DIM, [JOB_RELAYED] = COLOUR_GREEN,
    };

    return colours[job_state_parse(slice_of(state))];
}

/* `in 5m`, `5m ago` */
static void add_distance(struct buf *b, int64_t at, int64_t now_at)
{
    char text[SHORT_TEXT_SIZE];

    if (at > now_at)
        buf_addf(b, "in %s", age_format(at - now_at, text));
    else
        buf_addf(b, "%s ago", age_format(now_at - at, text));
}

bool job_add_too_late(const json_t *job, struct buf *b)
{
    int64_t laters = reply_int(job, "laters");

    if (laters <= RETRY_LATER_MAX || strcmp(reply_text(job, "cause"), "protocol") != 0)
        return false;
    buf_addf(b, "asked to run later %" PRId64 " times", laters);
    return true;
}

/* `exit 1`, `signal 9 (KILL)`, `timeout`; that a cancelled one was cancelled is said beside it. */
static void add_cause(struct buf *b, const json_t *of, const char *status_name)
{
    const char *cause = reply_text(of, "cause");
    const json_t *status = json_object_get(of, status_name);
    int n = (int)json_integer_value(status);

    if (job_add_too_late(of, b))
        return;
    verdict_add_cause(b, strcmp(cause, "cancelled") == 0 ? "" : cause,
                      json_is_integer(status) ? &n : NULL);
}

/* When it expects to be done. */
static void add_expected(struct buf *b, const json_t *job, int64_t now_at)
{
    int64_t expected_at = reply_time(job, "expected_at");
    char text[SHORT_TEXT_SIZE];

    if (expected_at > now_at)
        buf_addf(b, "%s%s left", b->size > 0 ? ", " : "", age_format(expected_at - now_at, text));
}

int job_percent(const json_t *job)
{
    int64_t done = reply_int(job, "done");
    int64_t total = reply_int(job, "total");

    if (total <= 0)
        return -1;
    if (done >= total)
        return 100;
    return done <= 0 ? 0 : (int)((double)done / (double)total * 100);
}

static void add_reason(struct buf *b, const json_t *job, int64_t now_at)
{
    const json_t *reason = json_object_get(job, "reason");
    const char *text = reply_text(reason, "text");
    bool retry = strcmp(reply_text(reason, "code"), "retry") == 0;
    int64_t until_at = reply_time(reason, "until");

    buf_add_str(b, text);
    if (until_at > 0) {
        buf_add_str(b, retry ? "; next attempt " : *text != '\0' ? ": starts " : "starts ");
        add_distance(b, until_at > now_at ? until_at : now_at + 1, now_at);
    }
}

void job_about(const json_t *job, int64_t now_at, struct buf *out)
{
    enum job_state state = job_state_parse(slice_of(reply_text(job, "state")));
    const char *text = reply_text(job, "text");

    if (job_state_ended(state) && verdict_says_only_cause(slice_of(text)))
        text = state == JOB_FAILED ? reply_text(job, "last_line") : "";
    if (job_state_waits(state)) {
        add_reason(out, job, now_at);
        return;
    }
    if (state == JOB_RUNNING) {
        int64_t done = reply_int(job, "done");
        int64_t total = reply_int(job, "total");
        const char *unit = reply_text(job, "unit");

        if (total > 0)
            buf_addf(out, "%" PRId64 "/%" PRId64 "%s ", done, total, unit);
        else if (done > 0)
            buf_addf(out, "%" PRId64 "%s ", done, unit);
    } else if (state != JOB_DONE) {
        add_cause(out, job, "exit");
    }
    if (state == JOB_RUNNING && reply_is_true(job, "cancelling"))
        buf_add_str(out, "cancelling ");
    if (*text != '\0' && out->size > 0 && state != JOB_RUNNING)
        buf_add_str(out, ": ");
    buf_add_str(out, text);
    while (out->size > 0 && out->data[out->size - 1] == ' ')
        out->data[--out->size] = '\0';
    if (state == JOB_RUNNING)
        add_expected(out, job, now_at);
}

static void print_field(const struct screen *s, const char *name, const char *text)
{
    CLEANUP(buf) struct buf clean = BUF_INIT(LINE_MAX_SIZE);

    if (*text == '\0')
        return;
    clean_text(&clean, slice_of(text));
    fprintf(screen_out(s), "  %s%-*s%s%s\n", screen_on(s, COLOUR_DIM), NAME_WIDTH, name,
            screen_off(s, COLOUR_DIM), buf_text(&clean));
}

static void print_time(const json_t *job, const char *field, int64_t now_at, const struct screen *s)
{
    CLEANUP(buf) struct buf line = BUF_INIT(LINE_MAX_SIZE);
    int64_t at = reply_time(job, field);

    if (at == 0)
        return;
    buf_addf(&line, "%s  ", reply_text(job, field));
    add_distance(&line, at, now_at);
    CLEANUP(mem) char *name = mem_strndup(field, strcspn(field, "_"));

    print_field(s, name, buf_text(&line));
}

/* A value, or the start of a large one. */
static void add_value(struct buf *line, struct slice text)
{
    char size[SHORT_TEXT_SIZE];

    buf_add_slice(line, text.size <= VALUE_MAX ? text : utf8_cut(text, BODY_SHOWN));
    if (text.size > VALUE_MAX)
        buf_addf(line, "… (%s in all)", bytes_format((int64_t)text.size, size));
}

/* An object: one member a line; anything else as JSON. */
static void print_members(const json_t *job, const char *field, const struct screen *s)
{
    json_t *object = json_object_get(job, field);
    const char *name = field;

    for (void *it = json_object_iter(object); it != NULL; it = json_object_iter_next(object, it)) {
        CLEANUP(buf) struct buf line = BUF_INIT(LINE_MAX_SIZE);
        const char *key = json_object_iter_key(it);
        CLEANUP(mem) char *json = reply_json(object, key);
        const char *text = json_string_value(json_object_iter_value(it));

        add_value(&line, utf8_cut(slice_of(key), BODY_SHOWN));
        buf_add_str(&line, " = ");
        add_value(&line, slice_of(text != NULL ? text : json != NULL ? json : "null"));
        print_field(s, name, buf_text(&line));
        name = "";
    }
}

static void print_json_field(const json_t *job, const char *field, const struct screen *s)
{
    CLEANUP(mem) char *json = reply_json(job, field);
    CLEANUP(buf) struct buf line = BUF_INIT(LINE_MAX_SIZE);

    if (json != NULL)
        add_value(&line, slice_of(json));
    print_field(s, field, buf_text(&line));
}

static void print_body(const json_t *job, const struct screen *s)
{
    const json_t *body = json_object_get(job, "body");
    struct slice text = {json_string_value(body), json_string_length(body)};
    char size[SHORT_TEXT_SIZE];

    if (text.data != NULL) {
        CLEANUP(buf) struct buf shown = BUF_INIT(LINE_MAX_SIZE);

        buf_add_slice(&shown, utf8_cut(text, BODY_SHOWN));
        if (text.size > BODY_SHOWN)
            buf_addf(&shown, "… (%s in all)", bytes_format((int64_t)text.size, size));
        print_field(s, "body", buf_text(&shown));
    } else if (*reply_text(job, "body_base64") != '\0') {
        int64_t bytes = (int64_t)strlen(reply_text(job, "body_base64")) / 4 * 3;
        CLEANUP(buf) struct buf line = BUF_INIT(LINE_MAX_SIZE);

        buf_addf(&line, "%s of bytes that are not text", bytes_format(bytes, size));
        print_field(s, "body", buf_text(&line));
    }
}

/* "0AJ…  site example.org", and which group the job is the finaliser of. */
static void print_group(const json_t *job, const struct screen *s)
{
    const json_t *group = json_object_get(job, "group");
    CLEANUP(buf) struct buf line = BUF_INIT(LINE_MAX_SIZE);

    if (*reply_text(group, "id") != '\0')
        buf_addf(&line, "%s  %s %s", reply_text(group, "id"), reply_text(group, "kind"),
                 reply_text(group, "name"));
    print_field(s, "group", buf_text(&line));
    print_field(s, "closes", reply_text(job, "closes"));
}

static void print_counts(const json_t *job, const struct screen *s)
{
    CLEANUP(buf) struct buf line = BUF_INIT(LINE_MAX_SIZE);

    if (reply_int(job, "attempt") > 0)
        buf_addf(&line, "%" PRId64, reply_int(job, "attempt"));
    if (reply_int(job, "lost") > 0)
        buf_addf(&line, ", workers lost: %" PRId64, reply_int(job, "lost"));
    print_field(s, "attempt", buf_text(&line));
    buf_clear(&line);
    if (reply_int(job, "priority") != 0)
        buf_addf(&line, "%" PRId64, reply_int(job, "priority"));
    print_field(s, "priority", buf_text(&line));
}

/* How long an attempt took, and when that was. */
static void add_took(struct table *t, const json_t *entry, int64_t now_at)
{
    int64_t started_at = reply_time(entry, "started_at");
    int64_t ended_at = reply_time(entry, "ended_at");
    char text[SHORT_TEXT_SIZE];
    CLEANUP(buf) struct buf when = BUF_INIT(100);

    table_add(t, COLOUR_PLAIN,
              started_at > 0 && ended_at >= started_at ? took_format(ended_at - started_at, text)
                                                       : "");
    if (ended_at > 0)
        add_distance(&when, ended_at, now_at);
    table_add(t, COLOUR_PLAIN, buf_text(&when));
}

/* Where an attempt belongs to: in a route, to a step.  Attempts are counted through the whole job,
 * as `log --attempt` does; an entry that came with the job was made by no worker of ours. */
static void add_place(struct table *t, const json_t *entry, bool route, int64_t *attempts)
{
    if (!route) {
        table_addf(t, COLOUR_PLAIN, "%" PRId64, reply_int(entry, "attempt"));
        return;
    }
    table_addf(t, COLOUR_PLAIN, "%" PRId64, reply_int(entry, "number"));
    table_add(t, COLOUR_PLAIN, reply_text(entry, "name"));
    if (*reply_text(entry, "worker") != '\0')
        table_addf(t, COLOUR_PLAIN, "%" PRId64, ++*attempts);
    else
        table_add(t, COLOUR_PLAIN, "");
}

static void print_record(const json_t *job, int64_t now_at, const struct screen *s)
{
    static const struct column columns[] = {
        {.title = "  STEP", .right = true},
        {.title = "NAME", .shrinks = true},
        {.title = "  ATTEMPT", .right = true},
        {.title = "QUEUE", .shrinks = true},
        {.title = "STATE"},
        {.title = "CAUSE"},
        {.title = "TOOK", .right = true},
        {.title = "ENDED", .right = true},
        {.title = "WORKER", .shrinks = true},
        {.title = "TEXT"},
    };
    CLEANUP(table) struct table t;
    const json_t *record = json_object_get(job, "progress");
    bool route = json_array_size(json_object_get(job, "steps")) > 0;
    size_t skip = route ? 0 : 2;
    int64_t attempts = 0;
    json_t *entry = NULL;

    table_init(&t, columns + skip, ARRAY_LEN(columns) - skip);
    if (json_array_size(record) == 0)
        return;
    for (size_t i = 0; (entry = json_array_get(record, i)) != NULL; i++) {
        CLEANUP(buf) struct buf cause = BUF_INIT(200);
        const char *state = reply_text(entry, "state");

        add_place(&t, entry, route, &attempts);
        table_add(&t, COLOUR_PLAIN, reply_text(entry, "queue"));
        table_add(&t, state_colour(state), state);
        add_cause(&cause, entry, "status");
        table_add(&t, COLOUR_PLAIN, buf_text(&cause));
        add_took(&t, entry, now_at);
        table_add(&t, COLOUR_PLAIN, reply_text(entry, "worker"));
        table_add(&t, COLOUR_PLAIN,
                  verdict_says_only_cause(slice_of(reply_text(entry, "text")))
                      ? ""
                      : reply_text(entry, "text"));
    }
    fputs("\n  record\n", screen_out(s));
    table_print(&t, s);
}

/* Conditions, destinations and origin. */
static void print_links(const json_t *job, const struct screen *s)
{
    CLEANUP(buf) struct buf line = BUF_INIT(LINE_MAX_SIZE);

    print_field(s, "parent", reply_text(job, "parent"));
    print_field(s, "topic", reply_text(job, "topic"));
    conditions_add(&line, json_object_get(job, "after"));
    print_field(s, "after", buf_text(&line));
    buf_clear(&line);
    dests_add(&line, json_object_get(job, "on_success"));
    print_field(s, "on success", buf_text(&line));
    buf_clear(&line);
    dests_add(&line, json_object_get(job, "on_failure"));
    print_field(s, "on failure", buf_text(&line));
}

void job_failed_step(const json_t *job, struct buf *out)
{
    const json_t *steps = json_object_get(job, "steps");
    int64_t number = reply_int(job, "failed_step");
    const json_t *step = NULL;

    for (size_t i = 0; number > 0 && (step = json_array_get(steps, i)) != NULL; i++) {
        CLEANUP(buf) struct buf name = BUF_INIT(LINE_MAX_SIZE);

        if (reply_int(step, "number") != number)
            continue;
        clean_text(&name, slice_of(reply_text(step, "name")));
        buf_addf(out, " at step %" PRId64 ", %s", number, buf_text(&name));
    }
}

static void print_command(const json_t *job, const struct screen *s)
{
    CLEANUP(buf) struct buf command = BUF_INIT(LINE_MAX_SIZE);

    command_add_text(&command, json_object_get(job, "command"));
    print_field(s, "command", buf_text(&command));
}

void job_page(const json_t *job, int64_t now_at, const struct screen *s)
{
    const char *state = reply_text(job, "state");
    CLEANUP(buf) struct buf about = BUF_INIT(LINE_MAX_SIZE);
    CLEANUP(buf) struct buf failed_step = BUF_INIT(LINE_MAX_SIZE);

    fprintf(screen_out(s), "job %s  %s%s%s", reply_text(job, "id"),
            screen_on(s, state_colour(state)), state, screen_off(s, state_colour(state)));
    job_failed_step(job, &failed_step);
    fprintf(screen_out(s), "%s\n", buf_text(&failed_step));
    print_field(s, "queue", reply_text(job, "queue"));
    job_about(job, now_at, &about);
    print_field(s, "about", buf_text(&about));
    if (*reply_text(job, "last_line") != '\0' &&
        strstr(buf_text(&about), reply_text(job, "last_line")) == NULL)
        print_field(s, "last line", reply_text(job, "last_line"));
    print_counts(job, s);
    print_time(job, "created_at", now_at, s);
    print_time(job, "due_at", now_at, s);
    print_time(job, "expires_at", now_at, s);
    print_group(job, s);
    print_time(job, "started_at", now_at, s);
    print_time(job, "lease_until", now_at, s);
    print_time(job, "finished_at", now_at, s);
    print_field(s, "worker", reply_text(job, "worker"));
    print_field(s, "key", reply_text(job, "key"));
    print_command(job, s);
    print_field(s, "workdir", reply_text(job, "workdir"));
    print_members(job, "env", s);
    print_json_field(job, "timeout", s);
    print_json_field(job, "retry", s);
    print_members(job, "labels", s);
    print_members(job, "params", s);
    print_members(job, "set", s);
    print_body(job, s);
    print_links(job, s);
    print_json_field(job, "result", s);
    print_field(s, "url", reply_text(job, "url"));
    steps_print(job, s);
    print_record(job, now_at, s);
}
