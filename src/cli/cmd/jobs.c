/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/live/job_wait.h"
#include "cli/live/progress_line.h"
#include "cli/request/filter.h"
#include "cli/table/value.h"
#include "cli/view/job_summary.h"
#include "cli/view/job_view.h"
#include "cli/view/reply_json.h"
#include "worker/client/url.h"

#define PAGE_MAX 1000
#define PATH_MAX_SIZE ((size_t)1 << 20)

static const struct column list_columns[] = {
    {.title = "ID"},
    {.title = "STATE"},
    {.title = "QUEUE", .shrinks = true},
    {.title = "AGE", .right = true},
    {.title = "TRY", .right = true, .optional = true},
    {.title = "WHAT", .shrinks = true},
    {.title = "ABOUT"},
};

static void print_page(const struct cli *cli, const struct client_reply *page, struct table *t)
{
    const json_t *jobs = json_object_get(page->json, "jobs");
    int64_t now_at = clock_wall_us();
    json_t *job = NULL;

    if (cli->json) {
        print_json_items(buf_slice(&page->text), "jobs");
        return;
    }
    for (size_t i = 0; (job = json_array_get(jobs, i)) != NULL; i++) {
        if (args_has(&cli->args, "ids")) {
            puts(reply_text(job, "id"));
        } else {
            CLEANUP(buf) struct buf about = BUF_INIT(4096);
            CLEANUP(buf) struct buf what = BUF_INIT(JOB_SUMMARY_MAX);
            char age[SHORT_TEXT_SIZE];
            const char *state = reply_text(job, "state");

            table_add(t, COLOUR_PLAIN, reply_text(job, "id"));
            table_add(t, state_colour(state), state);
            table_add(t, COLOUR_PLAIN, reply_text(job, "queue"));
            table_add(t, COLOUR_PLAIN, age_format(now_at - reply_time(job, "created_at"), age));
            table_add_count(t, COLOUR_PLAIN, reply_int(job, "attempt"));
            job_summary(job, &what);
            table_add(t, COLOUR_PLAIN, buf_text(&what));
            job_about(job, now_at, &about);
            table_add(t, COLOUR_PLAIN, buf_text(&about));
        }
    }
}

static enum err_code get_page(struct cli *cli, int64_t limit, const char *cursor,
                              struct client_reply *page, struct err *err)
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_MAX_SIZE);

    buf_addf(&path, "/v1/jobs?limit=%" PRId64, limit < PAGE_MAX ? limit : PAGE_MAX);
    filter_add_query(&cli->args, &path);
    if (args_has(&cli->args, "whole"))
        buf_add_str(&path, "&whole=1");
    if (*cursor != '\0') {
        buf_add_str(&path, "&cursor=");
        client_add_escaped(&path, slice_of(cursor));
    }
    return cli_get(cli, buf_text(&path), page, err);
}

/* Page after page.  A table is printed at its end, or a page at a time when there may be many. */
static enum err_code list_pages(struct cli *cli, int64_t limit, bool *ret_more, struct err *err)
{
    int64_t left = limit;
    CLEANUP(mem) char *cursor = mem_strdup("");
    CLEANUP(table) struct table t;

    table_init(&t, list_columns, ARRAY_LEN(list_columns));
    for (bool more = true; more && left > 0 && !ferror(stdout);) {
        CLEANUP(client_reply) struct client_reply page = CLIENT_REPLY_INIT;

        if (get_page(cli, left, cursor, &page, err) != E_OK)
            return err->code;
        print_page(cli, &page, &t);
        left -= (int64_t)json_array_size(json_object_get(page.json, "jobs"));
        free(cursor);
        cursor = mem_strdup(reply_text(page.json, "cursor"));
        more = *cursor != '\0';
        if (t.cells.count >= PAGE_MAX * ARRAY_LEN(list_columns)) {
            table_print(&t, &cli->screen);
            table_deinit(&t);
            table_init(&t, list_columns, ARRAY_LEN(list_columns));
            t.untitled = true;
        }
    }
    *ret_more = *cursor != '\0';
    if (t.cells.count > 0)
        table_print(&t, &cli->screen);
    if (left == limit && !cli->json && !args_has(&cli->args, "ids"))
        fputs(filter_given(&cli->args) ? "no job matches\n" : "there are no jobs\n", stderr);
    return E_OK;
}

int cmd_list(struct cli *cli)
{
    struct err err = ERR_INIT;
    int64_t limit = args_has(&cli->args, "all") ? INT64_MAX : args_int(&cli->args, "limit", 50);
    bool more = false;

    if (args_has(&cli->args, "all") && args_has(&cli->args, "limit"))
        return cli_usage(cli, "--all and --limit exclude each other");
    if (args_has(&cli->args, "whole") && !cli->json)
        return cli_usage(cli, "--whole is for --json: a table has no room for large values");
    if (list_pages(cli, limit, &more, &err) != E_OK)
        return cli_fail(cli, &err);
    if (more && cli->screen.width > 0)
        printf("%sthere are more: --limit N, or --all%s\n", screen_on(&cli->screen, COLOUR_DIM),
               screen_off(&cli->screen, COLOUR_DIM));
    return CLI_OK;
}

static int show_job(struct cli *cli, struct slice id)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    char path[64];
    struct err err = ERR_INIT;

    snprintf(path, sizeof(path), "/v1/jobs/%.*s", (int)id.size, id.data);
    if (cli_get(cli, path, &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (cli->json)
        print_json(buf_slice(&reply.text));
    else
        job_page(reply.json, clock_wall_us(), &cli->screen);
    return CLI_OK;
}

int cmd_show(struct cli *cli)
{
    int status = CLI_OK;

    for (size_t i = 0; i < cli->args.words.count; i++) {
        if (i > 0 && !cli->json)
            putchar('\n');
        int one = show_job(cli, value_job(cli->args.words.items[i]));

        if (status == CLI_OK)
            status = one;
    }
    return status;
}

int cmd_wait(struct cli *cli)
{
    int64_t timeout_us = args_duration_us(&cli->args, "timeout", -1);
    int64_t until_at = timeout_us < 0 ? TIME_NEVER : clock_mono_us() + timeout_us;
    size_t count = cli->args.words.count;
    int status = CLI_OK;

    for (size_t i = 0; i < count; i++) {
        CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
        struct slice id = value_job(cli->args.words.items[i]);
        struct err err = ERR_INIT;

        job_watch_begin(id);
        struct progress_line *line = progress_line_new(cli, id);
        enum err_code code = job_wait(cli, id, until_at, &reply, &err);

        job_watch_end();
        progress_line_free(line);
        if (code != E_OK)
            return cli_fail(cli, &err);
        if (cli->json)
            print_json(buf_slice(&reply.text));
        else
            printf("%.*s  %s\n", (int)id.size, id.data, reply_text(reply.json, "state"));
        job_say_end(cli, reply.json);
        if (!job_has_ended(reply.json))
            return CLI_NOT_NOW;
        int one = job_exit_status(reply.json);

        if (one != CLI_OK)
            status = count == 1 ? one : CLI_FAILED;
    }
    return status;
}
