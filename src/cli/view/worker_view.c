/* SPDX-License-Identifier: MIT */
#include "cli/view/worker_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "cli/view/answer.h"
#include "cli/view/job_view.h"

static const struct column columns[] = {
    {.title = "WORKER"},
    {.title = "HOST"},
    {.title = "PID", .right = true},
    {.title = "VERSION"},
    {.title = "RUNNING", .right = true},
    {.title = "SEEN", .right = true},
    {.title = "QUEUES"},
};

static const char *text_of(const json_t *value)
{
    const char *text = json_string_value(value);

    return text != NULL ? text : "";
}

/* `fetch:4 mail:2`, and what is broken. */
static void add_queues(struct buf *b, const json_t *worker)
{
    json_t *queues = json_object_get(worker, "queues");
    json_t *broken = json_object_get(worker, "broken");

    for (void *it = json_object_iter(queues); it != NULL; it = json_object_iter_next(queues, it))
        buf_addf(b, "%s%s:%" PRId64, b->size > 0 ? " " : "", json_object_iter_key(it),
                 (int64_t)json_integer_value(json_object_iter_value(it)));
    for (void *it = json_object_iter(broken); it != NULL; it = json_object_iter_next(broken, it))
        buf_addf(b, "%sBROKEN %s: %s", b->size > 0 ? "; " : "", json_object_iter_key(it),
                 text_of(json_object_iter_value(it)));
}

static void add_running(struct table *t, const json_t *worker)
{
    int64_t running = answer_int(worker, "running");
    int64_t slots = answer_int(worker, "slots");

    if (slots > 0)
        table_addf(t, running > 0 ? COLOUR_BLUE : COLOUR_DIM, "%" PRId64 "/%" PRId64, running,
                   slots);
    else
        table_add_count(t, COLOUR_BLUE, running);
}

bool worker_lives(const json_t *worker)
{
    return answer_is_true(worker, "live");
}

static void add_row(struct table *t, const json_t *worker, int64_t now_at)
{
    CLEANUP(buf) struct buf queues = BUF_INIT(4096);
    char age[SHORT_TEXT_SIZE];
    int64_t pid = answer_int(worker, "pid");
    int64_t seen_us = now_at - answer_time(worker, "seen_at");
    bool broken = json_object_size(json_object_get(worker, "broken")) > 0;

    table_add(t, COLOUR_PLAIN, answer_text(worker, "name"));
    table_add(t, COLOUR_PLAIN, answer_text(worker, "host"));
    if (pid > 0)
        table_addf(t, COLOUR_PLAIN, "%" PRId64, pid);
    else
        table_add(t, COLOUR_PLAIN, "");
    table_add(t, COLOUR_PLAIN, answer_text(worker, "version"));
    add_running(t, worker);
    table_addf(t, worker_lives(worker) ? COLOUR_PLAIN : COLOUR_DIM, "%s%s ago",
               answer_is_true(worker, "stopped") ? "stopped " : "", age_format(seen_us, age));
    add_queues(&queues, worker);
    table_add(t, broken ? COLOUR_RED : COLOUR_PLAIN, buf_text(&queues));
}

void worker_table(const json_t *workers, int64_t now_at, const struct screen *s)
{
    CLEANUP(table) struct table t;
    const json_t *worker = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (worker = json_array_get(workers, i)) != NULL; i++)
        add_row(&t, worker, now_at);
    if (t.cells.count > 0)
        table_print(&t, s);
}

static void print_line(const struct screen *s, const char *name, const char *text)
{
    CLEANUP(buf) struct buf clean = BUF_INIT((size_t)16 << 10);

    clean_text(&clean, slice_of(text));
    fprintf(screen_out(s), "  %s%-9s%s %s\n", screen_on(s, COLOUR_DIM), name,
            screen_off(s, COLOUR_DIM), buf_text(&clean));
}

static void print_facts(const json_t *worker, int64_t now_at, const struct screen *s)
{
    char text[128];
    char age[SHORT_TEXT_SIZE];

    if (*answer_text(worker, "host") != '\0')
        print_line(s, "host", answer_text(worker, "host"));
    if (answer_int(worker, "pid") > 0) {
        snprintf(text, sizeof(text), "%" PRId64, answer_int(worker, "pid"));
        print_line(s, "pid", text);
    }
    if (*answer_text(worker, "version") != '\0')
        print_line(s, "version", answer_text(worker, "version"));
    if (*answer_text(worker, "instance") != '\0') {
        snprintf(text, sizeof(text), "%.8s  since %s", answer_text(worker, "instance"),
                 answer_text(worker, "since"));
        print_line(s, "instance", text);
    }
    snprintf(text, sizeof(text), "%s  %s ago", answer_text(worker, "seen_at"),
             age_format(now_at - answer_time(worker, "seen_at"), age));
    print_line(s, answer_is_true(worker, "stopped") ? "stopped" : "seen", text);
    if (answer_int(worker, "slots") > 0) {
        snprintf(text, sizeof(text), "%" PRId64 ", %" PRId64 " in use", answer_int(worker, "slots"),
                 answer_int(worker, "running"));
        print_line(s, "slots", text);
    }
}

static void print_queues(const json_t *worker, const struct screen *s)
{
    json_t *queues = json_object_get(worker, "queues");
    json_t *broken = json_object_get(worker, "broken");
    const char *name = "queues";

    for (void *it = json_object_iter(queues); it != NULL; it = json_object_iter_next(queues, it)) {
        CLEANUP(buf) struct buf line = BUF_INIT(4096);

        buf_addf(&line, "%s  slots %" PRId64, json_object_iter_key(it),
                 (int64_t)json_integer_value(json_object_iter_value(it)));
        print_line(s, name, buf_text(&line));
        name = "";
    }
    name = "broken";
    for (void *it = json_object_iter(broken); it != NULL; it = json_object_iter_next(broken, it)) {
        CLEANUP(buf) struct buf line = BUF_INIT(4096);

        buf_addf(&line, "%s: %s", json_object_iter_key(it), text_of(json_object_iter_value(it)));
        print_line(s, name, buf_text(&line));
        name = "";
    }
}

void worker_page(const json_t *worker, const json_t *jobs, int64_t now_at, const struct screen *s)
{
    const char *worker_name = answer_text(worker, "name");
    const json_t *job = NULL;
    const char *name = "running";

    fprintf(screen_out(s), "worker %s\n", worker_name);
    print_facts(worker, now_at, s);
    print_queues(worker, s);
    for (size_t i = 0; (job = json_array_get(jobs, i)) != NULL; i++) {
        CLEANUP(buf) struct buf line = BUF_INIT(4096);

        if (strcmp(answer_text(job, "worker"), worker_name) != 0)
            continue;
        buf_addf(&line, "%s  %s  ", answer_text(job, "id"), answer_text(job, "queue"));
        job_about(job, now_at, &line);
        print_line(s, name, buf_text(&line));
        name = "";
    }
}
