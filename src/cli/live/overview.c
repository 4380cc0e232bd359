/* SPDX-License-Identifier: MIT */
#include "cli/live/overview.h"

#include <inttypes.h>

#include <jansson.h>

#include "base/clock.h"
#include "cli/table/noun.h"
#include "cli/view/job_summary.h"
#include "cli/view/job_view.h"
#include "cli/view/queue_view.h"
#include "cli/view/reply_json.h"

#define FOLD_ABOVE 8 /* queues: fewer are all shown while none of them moves */
#define BAR_COLUMNS 16

void overview_deinit(struct overview *o)
{
    client_reply_deinit(&o->server);
    client_reply_deinit(&o->queues);
    client_reply_deinit(&o->workers);
    client_reply_deinit(&o->running);
    client_reply_deinit(&o->failed);
    client_reply_deinit(&o->waiting);
}

static enum err_code get_jobs(struct cli *cli, const char *state, int limit,
                              struct client_reply *reply, struct err *err)
{
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs?state=%s&limit=%d", state, limit);
    return cli_get(cli, path, reply, err);
}

enum err_code overview_get(struct cli *cli, struct overview *o, struct err *err)
{
    if (cli_get(cli, "/v1/server", &o->server, err) != E_OK ||
        cli_get(cli, "/v1/queues", &o->queues, err) != E_OK ||
        cli_get(cli, "/v1/workers", &o->workers, err) != E_OK ||
        get_jobs(cli, "running", o->running_shown, &o->running, err) != E_OK ||
        get_jobs(cli, "ready,scheduled,held", o->waiting_shown, &o->waiting, err) != E_OK)
        return err->code;
    return get_jobs(cli, "failed", o->failed_shown, &o->failed, err);
}

static const json_t *queues_of(const struct overview *o)
{
    return json_object_get(o->queues.json, "queues");
}

static int64_t count_all(const struct overview *o, const char *state)
{
    int64_t n = 0;
    const json_t *queue = NULL;

    for (size_t i = 0; (queue = json_array_get(queues_of(o), i)) != NULL; i++)
        n += queue_count(queue, state);
    return n;
}

int64_t overview_running(const struct overview *o)
{
    return count_all(o, "running");
}

static void print_server(const struct cli *cli, const struct screen *s, const json_t *server)
{
    FILE *out = screen_out(s);
    char text[SHORT_TEXT_SIZE];

    fprintf(out, "%swaybill %s%s  %s  up %s  pid %" PRId64, screen_on(s, COLOUR_BOLD),
            reply_text(server, "version"), screen_off(s, COLOUR_BOLD), client_server(cli->client),
            age_format(reply_int(server, "uptime") * US_PER_S, text), reply_int(server, "pid"));
    fprintf(out, "  store %s",
            bytes_format(reply_int(json_object_get(server, "store"), "bytes"), text));
    fprintf(out, "  disk free %s\n", bytes_format(reply_int(server, "disk_free"), text));
}

static void add_server(struct table *t, const json_t *server, int64_t now_at)
{
    int64_t until_at = reply_time(server, "alive_until_at");
    bool late = until_at < now_at;
    char text[SHORT_TEXT_SIZE];

    table_add(t, reply_is_true(server, "self") ? COLOUR_BOLD : COLOUR_PLAIN,
              reply_text(server, "url"));
    table_add(t, COLOUR_PLAIN, reply_text(server, "host"));
    table_addf(t, COLOUR_PLAIN, "%" PRId64, reply_int(server, "pid"));
    table_add(t, COLOUR_PLAIN, reply_text(server, "version"));
    table_add(t, COLOUR_PLAIN, age_format(now_at - reply_time(server, "joined_at"), text));
    if (late)
        table_addf(t, COLOUR_YELLOW, "silent, late by %s", age_format(now_at - until_at, text));
    else
        table_add(t, COLOUR_PLAIN, reply_is_true(server, "self") ? "this one" : "");
}

/* Those that share the store, when there are others. */
static void print_servers(const struct screen *s, const json_t *server, int64_t now_at)
{
    static const struct column columns[] = {
        {.title = "SERVER"},
        {.title = "HOST"},
        {.title = "PID", .right = true},
        {.title = "VERSION"},
        {.title = "UP", .right = true},
        {.title = ""},
    };
    const json_t *servers = json_object_get(server, "servers");
    CLEANUP(table) struct table t;

    table_init(&t, columns, ARRAY_LEN(columns));
    if (json_array_size(servers) < 2)
        return;
    for (size_t i = 0; i < json_array_size(servers); i++)
        add_server(&t, json_array_get(servers, i), now_at);
    fputc('\n', screen_out(s));
    table_print(&t, s);
}

/* Whether workers that run programs skip the queue. */
static bool has_no_command(const json_t *queue)
{
    const json_t *definition = json_object_get(queue, "definition");

    return json_object_get(definition, "command") == NULL &&
           !reply_is_true(definition, "own_command");
}

/* Prints how many jobs of a queue are ready, since when, and why they do not run. */
static void print_waiting(const struct screen *s, const json_t *queue, int64_t now_at)
{
    const char *state = reply_text(queue, "state");
    int64_t ready = queue_count(queue, "ready");
    int64_t next_at = queue_next_at(queue);
    bool stopped = strcmp(state, "pause") == 0 || strcmp(state, "down") == 0;
    FILE *out = screen_out(s);
    char age[SHORT_TEXT_SIZE];

    if (ready == 0)
        return;
    fprintf(out, "  %s: %" PRId64 " ready", reply_text(queue, "name"), ready);
    if (next_at > 0)
        fprintf(out, ", the next is %s old", age_format(now_at - next_at, age));
    const char *on = screen_on(s, COLOUR_YELLOW);
    const char *off = screen_off(s, COLOUR_YELLOW);

    if (stopped)
        fprintf(out, ": %sthe queue is on %s%s", on, state, off);
    else if (json_array_size(json_object_get(queue, "broken")) > 0)
        fprintf(out,
                ": %sthe queue is broken: mend its program or command; it is tried again "
                "within a minute%s",
                on, off);
    else if (!reply_is_true(queue, "served"))
        fprintf(out, ": %s%s%s", on,
                has_no_command(queue)
                    ? "no command: waits for a claim over HTTP or a worker with its own"
                    : "no live worker",
                off);
    fputc('\n', out);
    queue_print_broken(queue, "    ", s);
}

/* Stopped queues, and why. */
static void print_stopped(const struct screen *s, const struct overview *o, int64_t now_at)
{
    const json_t *queue = NULL;

    for (size_t i = 0; (queue = json_array_get(queues_of(o), i)) != NULL; i++) {
        CLEANUP(buf) struct buf why = BUF_INIT(4096);
        CLEANUP(buf) struct buf line = BUF_INIT(8192);
        const char *state = reply_text(queue, "state");

        if (strcmp(state, "up") == 0)
            continue;
        queue_add_why(queue, now_at, &why);
        buf_addf(&line, "%s is on %s%s%s", reply_text(queue, "name"), state,
                 why.size > 0 ? ": " : "", buf_text(&why));
        CLEANUP(buf) struct buf clean = BUF_INIT(8192);

        clean_text(&clean, buf_slice(&line));
        fprintf(screen_out(s), "%s%s%s\n", screen_on(s, COLOUR_YELLOW), buf_text(&clean),
                screen_off(s, COLOUR_YELLOW));
    }
}

/* Every table of jobs ends with these columns. */
static void add_what_and_about(struct table *t, const json_t *job, int64_t now_at)
{
    CLEANUP(buf) struct buf what = BUF_INIT(JOB_SUMMARY_MAX);
    CLEANUP(buf) struct buf about = BUF_INIT(4096);

    job_summary(job, &what);
    table_add(t, COLOUR_PLAIN, buf_text(&what));
    job_about(job, now_at, &about);
    table_add(t, COLOUR_PLAIN, buf_text(&about));
}

/* Nothing at all without rows; `more` jobs are not among them. */
static void print_jobs(const struct screen *s, const struct table *t, int64_t more)
{
    if (t->cells.count == 0)
        return;
    fputc('\n', screen_out(s));
    table_print(t, s);
    if (more > 0)
        fprintf(screen_out(s), "and %" PRId64 " more\n", more);
}

/* Those that wait, the newest first, so that one can be looked into. */
static void print_waiting_jobs(const struct screen *s, const struct overview *o, int64_t now_at)
{
    static const struct column columns[] = {
        {.title = "WAITING"}, {.title = "QUEUE", .shrinks = true},
        {.title = "STATE"},   {.title = "WHAT", .shrinks = true},
        {.title = "ABOUT"},
    };
    const json_t *jobs = json_object_get(o->waiting.json, "jobs");
    int64_t more = count_all(o, "ready") + count_all(o, "scheduled") + count_all(o, "held") -
                   (int64_t)json_array_size(jobs);
    CLEANUP(table) struct table t;
    const json_t *job = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (job = json_array_get(jobs, i)) != NULL; i++) {
        const char *state = reply_text(job, "state");

        table_add(&t, state_colour(state), reply_text(job, "id"));
        table_add(&t, COLOUR_PLAIN, reply_text(job, "queue"));
        table_add(&t, state_colour(state), state);
        add_what_and_about(&t, job, now_at);
    }
    print_jobs(s, &t, more);
}

static void print_running(const struct screen *s, const struct overview *o, int64_t now_at)
{
    struct column columns[] = {
        {.title = "RUNNING"},
        {.title = "QUEUE", .shrinks = true},
        {.title = "FOR", .right = true},
        {.title = ""}, /* PROGRESS when a job tells it */
        {.title = "WHAT", .shrinks = true},
        {.title = "ABOUT"},
    };
    CLEANUP(table) struct table t;
    const json_t *jobs = json_object_get(o->running.json, "jobs");
    int64_t more = overview_running(o) - (int64_t)json_array_size(jobs);
    const json_t *job = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (job = json_array_get(jobs, i)) != NULL; i++) {
        CLEANUP(buf) struct buf bar = BUF_INIT(200);
        int percent = job_percent(job);
        char age[SHORT_TEXT_SIZE];

        table_add(&t, COLOUR_BLUE, reply_text(job, "id"));
        table_add(&t, COLOUR_PLAIN, reply_text(job, "queue"));
        table_add(&t, COLOUR_PLAIN, age_format(now_at - reply_time(job, "started_at"), age));
        if (percent >= 0) {
            columns[3].title = "PROGRESS";
            bar_add(&bar, percent, 100, BAR_COLUMNS);
            buf_addf(&bar, " %3d%%", percent);
        }
        table_add(&t, COLOUR_BLUE, buf_text(&bar));
        add_what_and_about(&t, job, now_at);
    }
    print_jobs(s, &t, more);
}

static void print_workers(const struct screen *s, const struct overview *o, int64_t now_at)
{
    const json_t *workers = json_object_get(o->workers.json, "workers");
    json_t *live = json_array();
    json_t *worker = NULL;

    for (size_t i = 0; (worker = json_array_get(workers, i)) != NULL; i++) {
        if (!o->folds || reply_is_true(worker, "live") || reply_int(worker, "running") > 0)
            json_array_append(live, worker);
    }
    size_t gone = json_array_size(workers) - json_array_size(live);

    if (json_array_size(workers) > 0)
        fputc('\n', screen_out(s));
    noun_print_table(NOUN_WORKER, live, now_at, s);
    if (gone > 0)
        fprintf(screen_out(s), "and %zu worker%s stopped or silent\n", gone, gone == 1 ? "" : "s");
    json_decref(live);
}

/* Nothing is in it that has not ended, and nothing has ended just now. */
static bool is_idle(const json_t *queue)
{
    static const char *const states[] = {"staged", "held", "scheduled", "ready", "running"};
    int64_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        n += queue_count(queue, states[i]);
    return n == 0 && strcmp(reply_text(queue, "state"), "up") == 0 &&
           json_real_value(json_object_get(queue, QUEUE_RATE)) <= 0;
}

static void print_queues(const struct screen *s, const struct overview *o, int64_t now_at)
{
    json_t *shown = json_array();
    json_t *queue = NULL;
    size_t all = json_array_size(queues_of(o));

    for (size_t i = 0; (queue = json_array_get(queues_of(o), i)) != NULL; i++) {
        if (!o->folds || !is_idle(queue))
            json_array_append(shown, queue);
    }
    size_t idle = all - json_array_size(shown);
    bool quiet = json_array_size(shown) == 0 && all <= FOLD_ABOVE;

    if (quiet || json_array_size(shown) > 0)
        noun_print_table(NOUN_QUEUE, quiet ? queues_of(o) : shown, now_at, s);
    if (!quiet && idle > 0)
        fprintf(screen_out(s), "and %zu idle queue%s\n", idle, idle == 1 ? "" : "s");
    json_decref(shown);
}

static void print_failures(const struct screen *s, const struct overview *o, int64_t now_at)
{
    static const struct column columns[] = {
        {.title = "FAILED LAST"},
        {.title = "QUEUE", .shrinks = true},
        {.title = "ENDED", .right = true},
        {.title = "WHAT", .shrinks = true},
        {.title = "ABOUT"},
    };
    CLEANUP(table) struct table t;
    const json_t *job = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (job = json_array_get(json_object_get(o->failed.json, "jobs"), i)) != NULL;
         i++) {
        char age[SHORT_TEXT_SIZE];

        table_add(&t, COLOUR_RED, reply_text(job, "id"));
        table_add(&t, COLOUR_PLAIN, reply_text(job, "queue"));
        table_addf(&t, COLOUR_PLAIN, "%s ago",
                   age_format(now_at - reply_time(job, "finished_at"), age));
        add_what_and_about(&t, job, now_at);
    }
    print_jobs(s, &t, 0);
}

void overview_print(const struct cli *cli, const struct screen *s, const struct overview *o,
                    int64_t now_at)
{
    const json_t *queue = NULL;

    print_server(cli, s, o->server.json);
    /* What the local worker is at, unless that is plain. */
    const json_t *worker = json_object_get(o->server.json, "worker");
    const char *state = reply_text(worker, "state");

    if (*state != '\0' && strcmp(state, "running") != 0)
        fprintf(screen_out(s), "%sthe local worker is %s, started again %" PRId64 " times%s\n",
                screen_on(s, COLOUR_YELLOW), state, reply_int(worker, "restarts"),
                screen_off(s, COLOUR_YELLOW));
    print_servers(s, o->server.json, now_at);
    fputc('\n', screen_out(s));
    print_queues(s, o, now_at);
    print_stopped(s, o, now_at);
    print_running(s, o, now_at);
    if (count_all(o, "ready") > 0)
        fputs("\nwaiting\n", screen_out(s));
    for (size_t i = 0; (queue = json_array_get(queues_of(o), i)) != NULL; i++)
        print_waiting(s, queue, now_at); /* nothing when it has no ready jobs */
    print_waiting_jobs(s, o, now_at);
    print_workers(s, o, now_at);
    print_failures(s, o, now_at);
}

void overview_print_json(const struct overview *o)
{
    json_t *all = json_pack("{s:O,s:O,s:O,s:O,s:O,s:O}", "server", o->server.json, "queues",
                            queues_of(o), "workers", json_object_get(o->workers.json, "workers"),
                            "running", json_object_get(o->running.json, "jobs"), "waiting",
                            json_object_get(o->waiting.json, "jobs"), "failed",
                            json_object_get(o->failed.json, "jobs"));

    if (all != NULL)
        json_dumpf(all, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(all);
}
