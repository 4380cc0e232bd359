/* SPDX-License-Identifier: MIT */
#include "run/show/report.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "cli/view/command_text.h"
#include "cli/view/job_summary.h"
#include "cli/view/job_view.h"
#include "cli/view/reply_json.h"
#include "run/show/progress.h"
#include "worker/client/url.h"

#define PATH_TEXT_SIZE 400
#define FAILED_SHOWN 10
#define WAITS_SHOWN 10
#define PAGES_MAX 100 /* of 1,000 ended jobs, for the time they took */

void report_add_command(const struct machine *m, struct buf *out)
{
    buf_add_str(out, "waybill run ");
    command_add_word(out, slice_of(m->file));
}

/* Jobs of the run in these states. */
static void add_jobs_path(const struct machine *m, const char *states, int limit, struct buf *out)
{
    char since[TIME_TEXT_SIZE];

    buf_addf(out, "/v1/jobs?state=%s&limit=%d&since=%s", states, limit, machine_since(m, since));
}

/* ---- time ---- */

struct times {
    json_t *of;    /* queue → microseconds that its programs took */
    bool is_whole; /* not only those of the newest jobs */
};

static void add_times(json_t *of, const json_t *jobs)
{
    const json_t *job = NULL;

    for (size_t i = 0; (job = json_array_get(jobs, i)) != NULL; i++) {
        const char *queue = reply_text(job, "queue");
        int64_t started_at = reply_time(job, "started_at");
        int64_t finished_at = reply_time(job, "finished_at");

        if (started_at > 0 && finished_at > started_at)
            json_object_set_new(of, queue,
                                json_integer(reply_int(of, queue) + finished_at - started_at));
    }
}

static enum err_code read_times(const struct machine *m, struct times *t, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_TEXT_SIZE * 2);
    const char *cursor = "";

    for (int page = 0; page < PAGES_MAX; page++) {
        buf_clear(&path);
        add_jobs_path(m, "done,failed,cancelled", 1000, &path);
        if (*cursor != '\0')
            buf_addf(&path, "&cursor=%s", cursor);
        if (machine_get(m, buf_text(&path), &reply, err) != E_OK)
            return err->code;
        add_times(t->of, json_object_get(reply.json, "jobs"));
        cursor = reply_text(reply.json, "cursor");
        t->is_whole = *cursor == '\0';
        if (t->is_whole)
            break;
    }
    return E_OK;
}

/* ---- queues ---- */

static void print_queues(const struct cli *cli, const struct look *l, const struct times *t)
{
    static const struct column columns[] = {
        {.title = "QUEUE", .shrinks = true}, {.title = "DONE", .right = true},
        {.title = "FAILED", .right = true},  {.title = "CANCELLED", .right = true},
        {.title = "DROPPED", .right = true}, {.title = "LEFT", .right = true},
        {.title = "TIME", .right = true},
    };
    CLEANUP(table) struct table table;
    char took[SHORT_TEXT_SIZE];

    table_init(&table, columns, ARRAY_LEN(columns));
    for (size_t i = 0; i < l->queues.count; i++) {
        const struct look_queue *q = &l->queues.items[i];

        table_add(&table, COLOUR_PLAIN, q->name);
        table_add_count(&table, COLOUR_GREEN, q->done);
        table_add_count(&table, COLOUR_RED, q->failed);
        table_add_count(&table, COLOUR_PLAIN, q->cancelled);
        table_add_count(&table, COLOUR_PLAIN, q->dropped);
        table_add_count(&table, COLOUR_YELLOW, q->live);
        table_addf(&table, COLOUR_PLAIN, "%s%s", t->is_whole ? "" : "> ",
                   took_format(reply_int(t->of, q->name), took));
    }
    if (l->queues.count > 0)
        table_print(&table, &cli->screen);
}

/* ---- failures ---- */

static void add_failure(const json_t *job, int64_t now_at, struct buf *out)
{
    CLEANUP(buf) struct buf what = BUF_INIT(JOB_SUMMARY_MAX);
    CLEANUP(buf) struct buf about = BUF_INIT(4096);

    job_summary(job, &what);
    job_about(job, now_at, &about);
    buf_addf(out, "%s  %s  ", reply_text(job, "id"), reply_text(job, "queue"));
    clean_text(out, buf_slice(&what));
    buf_add_str(out, what.size > 0 ? ": " : "");
    clean_text(out, buf_slice(&about));
}

static enum err_code print_failures(const struct report *r, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_TEXT_SIZE);
    CLEANUP(buf) struct buf command = BUF_INIT(PATH_TEXT_SIZE * 20);
    const json_t *job = NULL;

    if (r->look->failed == 0)
        return E_OK;
    add_jobs_path(r->m, "failed", FAILED_SHOWN, &path);
    if (machine_get(r->m, buf_text(&path), &reply, err) != E_OK)
        return err->code;
    printf("\nfailed:\n");
    for (size_t i = 0; (job = json_array_get(json_object_get(reply.json, "jobs"), i)) != NULL;
         i++) {
        CLEANUP(buf) struct buf line = BUF_INIT(PATH_TEXT_SIZE * 20);

        add_failure(job, clock_wall_us(), &line);
        printf("  %s\n", buf_text(&line));
    }
    if (r->look->failed > FAILED_SHOWN)
        printf("  and %" PRId64 " more\n", r->look->failed - FAILED_SHOWN);
    report_add_command(r->m, &command);
    printf("to see what they printed: %s --show\nto run them again: %s --failed\n",
           buf_text(&command), buf_text(&command));
    return E_OK;
}

/* ---- what is left ---- */

static void print_waits(const struct report *r)
{
    int64_t now_at = clock_wall_us();

    if (r->is_ended || r->look->waiting == 0)
        return;
    printf("\nwaiting:\n");
    for (size_t i = 0; i < r->look->waits.count && i < WAITS_SHOWN; i++) {
        CLEANUP(buf) struct buf line = BUF_INIT(PATH_TEXT_SIZE * 20);

        wait_line_add(&line, &r->look->waits.items[i], now_at);
        printf(" %s\n", buf_text(&line));
    }
}

/* ---- instructions ---- */

/* The groups of the instructions of this run. */
static enum err_code read_instructions(const struct machine *m, json_t *list, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    const json_t *group = NULL;

    if (machine_get(m, "/v1/groups?kind=" MACHINE_KIND "&limit=1000", &reply, err) != E_OK)
        return err->code;
    for (size_t i = 0; (group = json_array_get(json_object_get(reply.json, "groups"), i)) != NULL;
         i++)
        if (machine_is_of_run(m, reply_text(group, "id")))
            json_array_append(list, (json_t *)(uintptr_t)group);
    return E_OK;
}

struct printing {
    struct outputs *outputs;
    size_t bytes;
};

static bool print_piece(void *ctx, struct slice data)
{
    struct printing *p = ctx;

    output_log(p->outputs, data);
    p->bytes += data.size;
    return !ferror(stdout);
}

static enum err_code print_log(const struct cli *cli, const struct machine *m, const char *id,
                               size_t *bytes, struct err *err)
{
    struct printing printing = {.outputs = cli->outputs};
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    char path[64];
    const struct client_request request = {.path = path, .on_data = print_piece, .ctx = &printing};

    snprintf(path, sizeof(path), "/v1/jobs/%.20s/log", id);
    enum err_code code = client_call(m->client, &request, &reply, err);

    output_log_end(cli->outputs);
    *bytes += printing.bytes;
    return code;
}

/* The output of the finalisers, else that nothing is left. */
static enum err_code print_outputs(const struct cli *cli, const struct report *r,
                                   const json_t *instructions, struct err *err)
{
    size_t n = json_array_size(instructions);
    size_t printed = 0;

    for (size_t i = 0; i < n; i++) {
        const json_t *group = json_array_get(instructions, n - 1 - i); /* the oldest first */
        const char *finaliser = reply_text(group, "finaliser");

        if (*finaliser == '\0')
            continue;
        if (n > 1)
            printf("\n==> %s <==\n", reply_text(group, "name"));
        else
            printf("\n");
        if (print_log(cli, r->m, finaliser, &printed, err) != E_OK)
            return err->code;
    }
    if (printed == 0)
        printf("\nnothing is left to do\n");
    return E_OK;
}

/* ---- JSON ---- */

static json_t *queues_json(const struct look *l, const struct times *t)
{
    json_t *queues = json_object();

    for (size_t i = 0; i < l->queues.count; i++) {
        const struct look_queue *q = &l->queues.items[i];

        json_object_set_new(queues, q->name,
                            json_pack("{s:I,s:I,s:I,s:I,s:I,s:f}", "done", (json_int_t)q->done,
                                      "failed", (json_int_t)q->failed, "cancelled",
                                      (json_int_t)q->cancelled, "dropped", (json_int_t)q->dropped,
                                      "left", (json_int_t)q->live, "seconds",
                                      (double)reply_int(t->of, q->name) / (double)US_PER_S));
    }
    return queues;
}

static json_t *waits_json(const struct look *l)
{
    json_t *waits = json_array();

    for (size_t i = 0; i < l->waits.count; i++) {
        const struct look_wait *w = &l->waits.items[i];
        char text[TIME_TEXT_SIZE];

        json_array_append_new(
            waits, json_pack("{s:s,s:I,s:s?}", "text", w->text, "jobs", (json_int_t)w->n, "until",
                             w->until_at != 0 ? time_format(w->until_at, text) : NULL));
    }
    return waits;
}

static enum err_code print_as_json(const struct report *r, json_t *instructions,
                                   const struct times *t, struct err *err)
{
    CLEANUP(client_reply) struct client_reply failed = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_TEXT_SIZE);
    const struct look *l = r->look;

    add_jobs_path(r->m, "failed", 1000, &path);
    if (machine_get(r->m, buf_text(&path), &failed, err) != E_OK)
        return err->code;
    json_t *all = json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:o,s:o,s:O,s:O}", "file", r->m->path,
                            "state", r->state, "done", (json_int_t)l->done, "failed",
                            (json_int_t)l->failed, "cancelled", (json_int_t)l->cancelled, "dropped",
                            (json_int_t)l->dropped, "left", (json_int_t)look_left(l), "queues",
                            queues_json(l, t), "waits", waits_json(l), "failed_jobs",
                            json_object_get(failed.json, "jobs"), "instructions", instructions);

    if (all != NULL)
        json_dumpf(all, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(all);
    return E_OK;
}

enum err_code report_print(const struct cli *cli, const struct report *r, struct err *err)
{
    json_t *instructions = json_array();
    struct times t = {.of = json_object(), .is_whole = true};
    enum err_code code = read_times(r->m, &t, err);

    if (code == E_OK)
        code = read_instructions(r->m, instructions, err);
    if (code == E_OK && cli->json) {
        code = print_as_json(r, instructions, &t, err);
    } else if (code == E_OK) {
        print_queues(cli, r->look, &t);
        code = print_failures(r, err);
        print_waits(r);
        if (code == E_OK && r->shows_output)
            code = print_outputs(cli, r, instructions, err);
    }
    json_decref(instructions);
    json_decref(t.of);
    return code;
}

/* ---- --show ---- */

enum err_code report_failed(const struct cli *cli, const struct machine *m, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_TEXT_SIZE);
    const json_t *job = NULL;

    add_jobs_path(m, "failed", 1000, &path);
    if (machine_get(m, buf_text(&path), &reply, err) != E_OK)
        return err->code;
    if (cli->json) {
        print_json_items(buf_slice(&reply.text), "jobs");
        return E_OK;
    }
    const json_t *jobs = json_object_get(reply.json, "jobs");
    size_t bytes = 0;

    for (size_t i = 0; (job = json_array_get(jobs, i)) != NULL && !ferror(stdout); i++) {
        CLEANUP(buf) struct buf line = BUF_INIT(PATH_TEXT_SIZE * 20);

        add_failure(job, clock_wall_us(), &line);
        printf("==> %s <==\n", buf_text(&line));
        if (print_log(cli, m, reply_text(job, "id"), &bytes, err) != E_OK)
            return err->code;
    }
    if (json_array_size(jobs) == 0)
        fprintf(stderr, "no job has failed\n");
    return E_OK;
}
