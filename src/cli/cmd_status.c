/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/clock.h"
#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/job_view.h"
#include "cli/queue_view.h"

#define FAILURES_SHOWN 5

/* All that the screen is made of. */
struct facts {
    struct client_reply server;
    struct client_reply queues;
    struct client_reply workers;
    struct client_reply failed;
};

static enum err_code gather(struct cli *cli, struct facts *f, struct err *err)
{
    char failed[64];

    snprintf(failed, sizeof(failed), "/v1/jobs?state=failed&limit=%d", FAILURES_SHOWN);
    if (cli_get(cli, "/v1/server", &f->server, err) != E_OK ||
        cli_get(cli, "/v1/queues", &f->queues, err) != E_OK ||
        cli_get(cli, "/v1/workers", &f->workers, err) != E_OK)
        return err->code;
    return cli_get(cli, failed, &f->failed, err);
}

static void print_server(const struct cli *cli, const json_t *server)
{
    char text[SHORT_TEXT_SIZE];

    printf("%swaybill %s%s  %s  up %s  pid %" PRId64, screen_on(&cli->screen, COLOUR_BOLD),
           answer_text(server, "version"), screen_off(&cli->screen, COLOUR_BOLD),
           client_server(cli->client), age_format(answer_int(server, "uptime") * US_PER_S, text),
           answer_int(server, "pid"));
    printf("  store %s", bytes_format(answer_int(json_object_get(server, "store"), "bytes"), text));
    printf("  disk free %s\n", bytes_format(answer_int(server, "disk_free"), text));
}

/* What is ready in this queue, since when, and why it does not run; nothing when nothing is. */
static void print_waiting(const struct cli *cli, const json_t *queue, int64_t now_at)
{
    const char *state = answer_text(queue, "state");
    int64_t ready = queue_count(queue, "ready");
    int64_t next_at = queue_next_at(queue);
    bool stopped = strcmp(state, "pause") == 0 || strcmp(state, "down") == 0;
    char age[SHORT_TEXT_SIZE];

    if (ready == 0)
        return;
    printf("  %s: %" PRId64 " ready", answer_text(queue, "name"), ready);
    if (next_at > 0)
        printf(", the next is %s old", age_format(now_at - next_at, age));
    const char *on = screen_on(&cli->screen, COLOUR_YELLOW);
    const char *off = screen_off(&cli->screen, COLOUR_YELLOW);

    if (stopped)
        printf(": %sthe queue is on %s%s", on, state, off);
    else if (!answer_is_true(queue, "served"))
        printf(": %sno live worker%s", on, off);
    putchar('\n');
}

static bool any_ready(const json_t *queues)
{
    json_t *queue = NULL;

    for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++) {
        if (queue_count(queue, "ready") > 0)
            return true;
    }
    return false;
}

static void print_waits(const struct cli *cli, const struct facts *f, int64_t now_at)
{
    const json_t *queues = json_object_get(f->queues.json, "queues");
    json_t *queue = NULL;

    if (!any_ready(queues))
        return;
    puts("\nwaiting");
    for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++)
        print_waiting(cli, queue, now_at);
}

static void print_failures(const struct cli *cli, const struct facts *f, int64_t now_at)
{
    static const struct column columns[] = {
        {.title = "FAILED LAST"},
        {.title = "QUEUE"},
        {.title = "ENDED", .right = true},
        {.title = "ABOUT"},
    };
    CLEANUP(table) struct table t;
    json_t *job = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (job = json_array_get(json_object_get(f->failed.json, "jobs"), i)) != NULL;
         i++) {
        CLEANUP(buf) struct buf about = BUF_INIT(4096);
        char age[SHORT_TEXT_SIZE];

        table_add(&t, COLOUR_RED, answer_text(job, "id"));
        table_add(&t, COLOUR_PLAIN, answer_text(job, "queue"));
        table_addf(&t, COLOUR_PLAIN, "%s ago",
                   age_format(now_at - answer_time(job, "finished_at"), age));
        job_about(job, now_at, &about);
        table_add(&t, COLOUR_PLAIN, buf_text(&about));
    }
    if (t.cells.count == 0)
        return;
    putchar('\n');
    table_print(&t, &cli->screen);
}

static void print_json_facts(const struct facts *f)
{
    json_t *all = json_pack("{s:O,s:O,s:O,s:O}", "server", f->server.json, "queues",
                            json_object_get(f->queues.json, "queues"), "workers",
                            json_object_get(f->workers.json, "workers"), "failed",
                            json_object_get(f->failed.json, "jobs"));

    if (all != NULL)
        json_dumpf(all, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(all);
}

int cmd_status(struct cli *cli)
{
    struct facts f = {CLIENT_REPLY_INIT, CLIENT_REPLY_INIT, CLIENT_REPLY_INIT, CLIENT_REPLY_INIT};
    struct err err = ERR_INIT;
    int status = CLI_OK;
    int64_t now_at = clock_wall_us();

    if (gather(cli, &f, &err) != E_OK) {
        status = cli_fail(cli, &err);
    } else if (cli->json) {
        print_json_facts(&f);
    } else {
        print_server(cli, f.server.json);
        putchar('\n');
        queue_table(json_object_get(f.queues.json, "queues"), now_at, &cli->screen);
        print_waits(cli, &f, now_at);
        print_failures(cli, &f, now_at);
    }
    client_reply_deinit(&f.server);
    client_reply_deinit(&f.queues);
    client_reply_deinit(&f.workers);
    client_reply_deinit(&f.failed);
    return status;
}
