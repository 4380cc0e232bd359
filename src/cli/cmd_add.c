/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "base/clock.h"
#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/job_text.h"
#include "cli/job_wait.h"
#include "cli/lines.h"

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

static int submit(struct cli *cli, struct slice job)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    const struct client_request r = {.method = "POST", .path = "/v1/jobs", .body = job};
    struct err err = ERR_INIT;

    if (cli_call(cli, &r, &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (args_has(&cli->args, "wait"))
        return follow(cli, answer_text(reply.json, "id"));
    if (cli->json)
        print_json(buf_slice(&reply.text));
    else
        puts(answer_text(reply.json, "id"));
    return CLI_OK;
}

int cmd_add(struct cli *cli)
{
    CLEANUP(buf) struct buf job = BUF_INIT(JOB_TEXT_MAX);
    const char *lines = args_text(&cli->args, "lines");
    struct err err = ERR_INIT;

    if (lines != NULL && (args_has(&cli->args, "wait") || args_has(&cli->args, "key")))
        return cli_usage(cli, "--lines goes with neither --wait nor --key");
    if (job_text(&cli->args, &job, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    if (lines != NULL)
        return add_lines(cli, lines, buf_slice(&job));
    if (args_has(&cli->args, "dry-run")) {
        print_json(buf_slice(&job));
        return CLI_OK;
    }
    return submit(cli, buf_slice(&job));
}
