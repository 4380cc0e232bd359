/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/job_text.h"
#include "cli/job_wait.h"
#include "cli/job_whole.h"
#include "cli/lines.h"
#include "cli/plan_view.h"
#include "server/limits.h"

/* Streams the log, then exits as the program did; as JSON, the job as it has ended. */
static int follow(struct cli *cli, const char *id)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;

    if (!cli->json) {
        fprintf(stderr, "waybill: job %s\n", id);
        return job_follow(cli, slice_of(id), 0);
    }
    if (job_wait(cli, slice_of(id), TIME_NEVER, &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    print_json(buf_slice(&reply.text));
    return job_exit_status(reply.json);
}

static void print_ids(const json_t *answer)
{
    const json_t *ids = json_object_get(answer, "ids");

    if (ids == NULL)
        puts(answer_text(answer, "id"));
    for (size_t i = 0; i < json_array_size(ids); i++)
        puts(json_string_value(json_array_get(ids, i)));
}

static int submit(struct cli *cli, struct slice jobs)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    bool dry = args_has(&cli->args, "dry-run");
    const struct client_request r = {
        .method = "POST",
        .path = dry ? "/v1/jobs?dry_run=1" : "/v1/jobs",
        .body = jobs,
    };
    struct err err = ERR_INIT;

    if (cli_call(cli, &r, &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (!dry && args_has(&cli->args, "wait"))
        return follow(cli, answer_text(reply.json, "id"));
    if (cli->json)
        print_json(buf_slice(&reply.text));
    else if (dry)
        plan_print(reply.json, &cli->screen);
    else
        print_ids(reply.json);
    return CLI_OK;
}

/* What the words and options of the line say. */
static enum err_code line_text(const struct args *a, struct buf *out, struct err *err)
{
    if (job_text(a, out, err) != E_OK)
        return err->code;
    if (args_has(a, "redo")) {
        out->size--; /* its end comes once more */
        json_put_bool(out, "redo", true);
        buf_add_char(out, '}');
    }
    return E_OK;
}

static int add_whole(struct cli *cli, struct slice line)
{
    CLEANUP(buf) struct buf jobs = BUF_INIT(BODY_ARRAY_MAX);
    struct err err = ERR_INIT;
    bool many = false;

    if (job_whole(args_text(&cli->args, "job"), line, &jobs, &many, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    if (many && args_has(&cli->args, "wait"))
        return cli_usage(cli, "--wait is for one job: use 'waybill wait' with the ids");
    return submit(cli, buf_slice(&jobs));
}

int cmd_add(struct cli *cli)
{
    CLEANUP(buf) struct buf job = BUF_INIT(JOB_TEXT_MAX);
    const struct args *a = &cli->args;
    const char *lines = args_text(a, "lines");
    struct err err = ERR_INIT;

    if (lines != NULL && (args_has(a, "wait") || args_has(a, "key") || args_has(a, "job")))
        return cli_usage(cli, "--lines goes with neither --wait nor --key nor --job");
    if (args_word(a, 0) == NULL && !args_has(a, "job") && lines == NULL)
        return cli_usage(cli, "QUEUE is missing; or give a whole job: --job @FILE");
    if (line_text(a, &job, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    if (lines != NULL)
        return add_lines(cli, lines, buf_slice(&job));
    return args_has(a, "job") ? add_whole(cli, buf_slice(&job)) : submit(cli, buf_slice(&job));
}
