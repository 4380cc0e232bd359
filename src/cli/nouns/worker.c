/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/text/nearest.h"
#include "cli/cli.h"
#include "cli/table/command_options.h"
#include "cli/table/noun.h"
#include "cli/view/job_view.h"
#include "cli/view/reply_json.h"

#define RUNNING_MAX "1000" /* the server's maximum for one page */

/* The worker at that place of the list, as JSON text: the server has no request for one worker. */
static bool find_text(struct slice reply, size_t place, struct slice *ret_worker)
{
    struct slice workers;

    if (!jtext_find(reply, "workers", &workers))
        return false;
    for (struct jtext_iter it = jtext_items(workers); jtext_next_item(&it, ret_worker);) {
        if (place-- == 0)
            return true;
    }
    return false;
}

/* Shows the worker of that name, if it is in the list; `running` are the jobs of all workers. */
static enum err_code show_one(const struct cli *cli, const struct client_reply *list,
                              json_t *running, const char *name, struct err *err)
{
    const json_t *workers = json_object_get(list->json, "workers");
    json_t *worker = NULL;
    struct slice text;

    for (size_t i = 0; (worker = json_array_get(workers, i)) != NULL; i++) {
        if (strcmp(reply_text(worker, "name"), name) != 0)
            continue;
        if (cli->json && find_text(buf_slice(&list->text), i, &text))
            print_json(text);
        if (cli->json)
            return E_OK;
        json_object_set(worker, WORKER_JOBS, running);
        noun_print_page(NOUN_WORKER, worker, clock_wall_us(), &cli->screen);
        return E_OK;
    }
    VEC(const char *) names = VEC_INIT;

    for (size_t i = 0; (worker = json_array_get(workers, i)) != NULL; i++)
        VEC_PUSH(&names, reply_text(worker, "name"));
    const char *near = nearest_word(slice_of(name), names.items, names.count);

    err_set(err, E_NOT_FOUND, "there is no worker '%s'%s%s%s", name,
            near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
            near != NULL ? "'?" : "");
    VEC_DEINIT(&names);
    return err->code;
}

static int show(struct cli *cli)
{
    CLEANUP(client_reply) struct client_reply list = CLIENT_REPLY_INIT;
    CLEANUP(client_reply) struct client_reply running = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;
    int status = CLI_OK;

    if (cli_get(cli, "/v1/workers", &list, &err) != E_OK)
        return cli_fail(cli, &err);
    if (!cli->json &&
        cli_get(cli, "/v1/jobs?state=running&limit=" RUNNING_MAX, &running, &err) != E_OK)
        return cli_fail(cli, &err);
    for (size_t i = 0; i < cli->args.words.count; i++) {
        struct err one = ERR_INIT;

        if (show_one(cli, &list, json_object_get(running.json, "jobs"), cli->args.words.items[i],
                     &one) != E_OK)
            status = cli_fail(cli, &one);
    }
    return status;
}

const struct command worker_verbs[] = {
    NOUN_LIST("List all workers and what they are running"),
    NOUN_ACT(NOUN_WORKER, "show", "Show a worker: queues, running jobs, broken programs", show),
    {.name = NULL},
};

/* ---- how they are shown ---- */

static const char *text_of(const json_t *value)
{
    const char *text = json_string_value(value);

    return text != NULL ? text : "";
}

static void write_running(const struct view_field *f, const struct view_source *from,
                          struct view_text *out)
{
    int64_t slots = reply_int(from->item, "slots");

    view_int(f, from, out);
    if (slots > 0)
        buf_addf(&out->text, "/%" PRId64, slots);
    out->colour = reply_int(from->item, f->member) > 0 ? COLOUR_BLUE : COLOUR_DIM;
}

static void write_seen(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    int64_t seen_us = from->now_at - reply_time(from->item, f->member);
    char age[SHORT_TEXT_SIZE];

    buf_addf(&out->text, "%s%s ago", reply_is_true(from->item, "stopped") ? "stopped " : "",
             age_format(seen_us, age));
    out->colour = reply_is_true(from->item, "live") ? COLOUR_PLAIN : COLOUR_DIM;
}

/* fetch:4 mail:2, and what is broken. */
static void write_queues(const struct view_field *f, const struct view_source *from,
                         struct view_text *out)
{
    json_t *queues = json_object_get(from->item, f->member);
    json_t *broken = json_object_get(from->item, "broken");
    struct buf *b = &out->text;

    for (void *it = json_object_iter(queues); it != NULL; it = json_object_iter_next(queues, it))
        buf_addf(b, "%s%s:%" PRId64, b->size > 0 ? " " : "", json_object_iter_key(it),
                 (int64_t)json_integer_value(json_object_iter_value(it)));
    for (void *it = json_object_iter(broken); it != NULL; it = json_object_iter_next(broken, it))
        buf_addf(b, "%sBROKEN %s: %s", b->size > 0 ? "; " : "", json_object_iter_key(it),
                 text_of(json_object_iter_value(it)));
    if (json_object_size(broken) > 0)
        out->colour = COLOUR_RED;
}

static void write_instance(const struct view_field *f, const struct view_source *from,
                           struct view_text *out)
{
    if (*reply_text(from->item, f->member) != '\0')
        buf_addf(&out->text, "%.8s  since %s", reply_text(from->item, f->member),
                 reply_text(from->item, "since"));
}

static void add_seen_at(const struct view_field *f, const struct view_source *from, struct buf *out)
{
    char age[SHORT_TEXT_SIZE];

    buf_addf(out, "%s  %s ago", reply_text(from->item, f->member),
             age_format(from->now_at - reply_time(from->item, f->member), age));
}

static void write_seen_at(const struct view_field *f, const struct view_source *from,
                          struct view_text *out)
{
    if (!reply_is_true(from->item, "stopped"))
        add_seen_at(f, from, &out->text);
}

static void write_stopped_at(const struct view_field *f, const struct view_source *from,
                             struct view_text *out)
{
    if (reply_is_true(from->item, "stopped"))
        add_seen_at(f, from, &out->text);
}

static void write_slots(const struct view_field *f, const struct view_source *from,
                        struct view_text *out)
{
    if (reply_int(from->item, f->member) > 0)
        buf_addf(&out->text, "%" PRId64 ", %" PRId64 " in use", reply_int(from->item, f->member),
                 reply_int(from->item, "running"));
}

static void write_queue_lines(const struct view_field *f, const struct view_source *from,
                              struct view_text *out)
{
    json_t *queues = json_object_get(from->item, f->member);

    for (void *it = json_object_iter(queues); it != NULL; it = json_object_iter_next(queues, it))
        buf_addf(&out->text, "%s%s  slots %" PRId64, out->text.size > 0 ? "\n" : "",
                 json_object_iter_key(it), (int64_t)json_integer_value(json_object_iter_value(it)));
}

static void write_broken_lines(const struct view_field *f, const struct view_source *from,
                               struct view_text *out)
{
    json_t *broken = json_object_get(from->item, f->member);

    for (void *it = json_object_iter(broken); it != NULL; it = json_object_iter_next(broken, it)) {
        buf_addf(&out->text, "%s%s: ", out->text.size > 0 ? "\n" : "", json_object_iter_key(it));
        clean_text(&out->text, slice_of(text_of(json_object_iter_value(it))));
    }
}

static void write_jobs(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    const json_t *jobs = json_object_get(from->item, f->member);
    const json_t *job = NULL;

    for (size_t i = 0; (job = json_array_get(jobs, i)) != NULL; i++) {
        CLEANUP(buf) struct buf line = BUF_INIT(4096);

        if (strcmp(reply_text(job, "worker"), reply_text(from->item, "name")) != 0)
            continue;
        buf_addf(&line, "%s  %s  ", reply_text(job, "id"), reply_text(job, "queue"));
        job_about(job, from->now_at, &line); /* without a text it drops the spaces before it */
        buf_add_str(&out->text, out->text.size > 0 ? "\n" : "");
        clean_text(&out->text, buf_slice(&line));
    }
}

const struct noun worker_noun = {
    .name = "worker",
    .command = "workers",
    .plural = "workers",
    .columns = {{.title = "WORKER", .member = "name"},
                {.title = "HOST", .member = "host"},
                {.title = "PID", .member = "pid", .write = view_nonzero, .right = true},
                {.title = "VERSION", .member = "version"},
                {.title = "RUNNING", .member = "running", .write = write_running, .right = true},
                {.title = "SEEN", .member = "seen_at", .write = write_seen, .right = true},
                {.title = "QUEUES", .member = "queues", .write = write_queues}},
    .page = {{.title = "host", .member = "host"},
             {.title = "pid", .member = "pid", .write = view_nonzero},
             {.title = "version", .member = "version"},
             {.title = "instance", .member = "instance", .write = write_instance},
             {.title = "stopped", .member = "seen_at", .write = write_stopped_at},
             {.title = "seen", .member = "seen_at", .write = write_seen_at},
             {.title = "slots", .member = "slots", .write = write_slots},
             {.title = "queues", .member = "queues", .write = write_queue_lines},
             {.title = "broken", .member = "broken", .write = write_broken_lines},
             {.title = "running", .member = WORKER_JOBS, .write = write_jobs}},
};
