/* SPDX-License-Identifier: MIT */
#include "cli/request/bulk.h"

#include <inttypes.h>
#include <unistd.h>

#include <jansson.h>

#include "base/jtext/jtext.h"
#include "cli/request/filter.h"
#include "cli/view/job_summary.h"
#include "cli/view/job_view.h"
#include "cli/view/output.h"
#include "cli/view/reply_json.h"

#define BODY_MAX ((size_t)1 << 20)

static enum err_code begin(struct cli *cli, const struct bulk_request *b,
                           struct client_reply *reply, struct err *err)
{
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);

    buf_addf(&body, "{\"action\":\"%s\",\"filter\":", b->action);
    if (b->queue != NULL)
        filter_add_queue_json(b->queue, b->states, &body);
    else if (filter_add_json(&cli->args, b->states, &body, err) != E_OK)
        return err->code;
    if (b->to_queue != NULL)
        jtext_put_string(&body, "queue", slice_of(b->to_queue));
    if (b->alone)
        jtext_put_bool(&body, "alone", true);
    buf_add_char(&body, '}');
    const struct client_request r = {
        .method = "POST",
        .path = args_has(&cli->args, "dry-run") ? "/v1/bulk?dry_run=1" : "/v1/bulk",
        .body = buf_slice(&body),
    };

    return cli_call(cli, &r, reply, err);
}

static enum err_code wait_for_end(struct cli *cli, const struct bulk_request *b,
                                  struct client_reply *reply, struct err *err)
{
    CLEANUP(buf) struct buf line = BUF_INIT(200);
    bool draws = isatty(STDERR_FILENO);
    char path[64];

    snprintf(path, sizeof(path), "/v1/bulk/%.20s?wait=1s", reply_text(reply->json, "id"));
    while (strcmp(reply_text(reply->json, "state"), "done") != 0) {
        buf_clear(&line);
        buf_addf(&line, "\r%s %" PRId64 " jobs …", b->done, reply_int(reply->json, "changed"));
        if (draws)
            output_status(buf_slice(&line));
        client_reply_deinit(reply);
        *reply = CLIENT_REPLY_INIT;
        if (cli_get(cli, path, reply, err) != E_OK)
            return err_wrap(err, "the server continues with it, but");
    }
    if (draws)
        output_status(SLICE("\r\033[K"));
    return E_OK;
}

static void print_result(const struct cli *cli, const struct bulk_request *b,
                         const struct client_reply *reply)
{
    int64_t changed = reply_int(reply->json, "changed");
    int64_t refused = reply_int(reply->json, "refused");

    if (cli->json) {
        print_json(buf_slice(&reply->text));
        return;
    }
    printf("%s %" PRId64 " job%s", b->done, changed, changed == 1 ? "" : "s");
    if (refused > 0)
        printf(", %" PRId64 " could not be", refused);
    putchar('\n');
}

static void print_examples(const struct cli *cli, const json_t *jobs)
{
    static const struct column columns[] = {
        {.title = "  ID"},
        {.title = "STATE"},
        {.title = "QUEUE", .shrinks = true},
        {.title = "WHAT"},
    };
    CLEANUP(table) struct table t;
    const json_t *job = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (job = json_array_get(jobs, i)) != NULL; i++) {
        CLEANUP(buf) struct buf what = BUF_INIT(JOB_SUMMARY_MAX);

        job_summary(job, &what);
        table_addf(&t, COLOUR_PLAIN, "  %s", reply_text(job, "id"));
        table_add(&t, state_colour(reply_text(job, "state")), reply_text(job, "state"));
        table_add(&t, COLOUR_PLAIN, reply_text(job, "queue"));
        table_add(&t, COLOUR_PLAIN, buf_text(&what));
    }
    if (t.cells.count > 0)
        table_print(&t, &cli->screen);
}

/* Prints what the action would do. */
static void print_plan(const struct cli *cli, const struct bulk_request *b,
                       const struct client_reply *reply)
{
    const json_t *examples = json_object_get(reply->json, "examples");
    int64_t jobs = reply_int(reply->json, "jobs");
    int64_t left = jobs - (int64_t)json_array_size(examples);

    if (cli->json) {
        print_json(buf_slice(&reply->text));
        return;
    }
    printf("%s%" PRId64 " job%s would be %s\n",
           reply_is_true(reply->json, "more") ? "at least " : "", jobs, jobs == 1 ? "" : "s",
           b->done);
    print_examples(cli, examples);
    if (left > 0 && json_array_size(examples) > 0)
        printf("  and %" PRId64 " more\n", left);
}

int bulk_act(struct cli *cli, const struct bulk_request *request)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;

    if (begin(cli, request, &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (args_has(&cli->args, "dry-run")) {
        print_plan(cli, request, &reply);
        return CLI_OK;
    }
    if (wait_for_end(cli, request, &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    print_result(cli, request, &reply);
    bool all_refused = reply_int(reply.json, "changed") == 0 &&
                       reply_int(reply.json, "refused") > 0;

    return all_refused ? CLI_REFUSED : CLI_OK;
}
