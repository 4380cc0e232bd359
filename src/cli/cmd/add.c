/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/live/job_wait.h"
#include "cli/live/log_print.h"
#include "cli/request/job_lines.h"
#include "cli/request/job_merge.h"
#include "cli/request/job_text.h"
#include "cli/request/last_job.h"
#include "cli/view/plan_view.h"
#include "cli/view/reply_json.h"
#include "server/limits.h"

/* Streams the log, then exits as the program did; as JSON, the job as it has ended. */
static int follow(struct cli *cli, const json_t *added)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    const char *id = reply_text(added, "id");
    struct log_printer log;
    struct err err = ERR_INIT;

    if (!cli->json) {
        fprintf(stderr, "waybill: job %s\n", id);
        if (log_printer_open(&log, cli, slice_of(id), false, &err) != E_OK)
            return cli_fail(cli, &err);
        log_printer_skip_to(&log, reply_int(added, "log_size")); /* with --redo */
        int status = job_follow(cli, slice_of(id), &log);

        log_printer_close(&log);
        return status;
    }
    if (job_wait_added(cli, slice_of(id), &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    print_json(buf_slice(&reply.text));
    return job_exit_status(reply.json);
}

/* What filters have dropped is no error; there is no id to print. */
static void tell_dropped(const json_t *dropped)
{
    const json_t *drop = json_is_object(dropped) ? dropped : json_array_get(dropped, 0);

    for (size_t i = 0; drop != NULL; drop = json_array_get(dropped, ++i)) {
        CLEANUP(buf) struct buf text = BUF_INIT(4096);

        clean_text(&text, slice_of(reply_text(drop, "text")));
        fprintf(stderr, "waybill: dropped by the filter %s: %s\n", reply_text(drop, "filter"),
                buf_text(&text));
    }
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

    if (cli_call(cli, &r, &reply, &err) != E_OK) {
        int status = cli_fail(cli, &err);

        if (status == CLI_NOT_FOUND)
            cli_hint_program(cli); /* without `--` its name was taken for a queue */
        return status;
    }
    const json_t *ids = json_object_get(reply.json, "ids"); /* of an array of jobs */
    const char *last = json_string_value(json_array_get(ids, json_array_size(ids) - 1));

    if (last == NULL)
        last = reply_text(reply.json, "id");
    if (!dry && *last != '\0')
        last_job_keep(client_server(cli->client), last);
    tell_dropped(json_object_get(reply.json, "dropped"));
    if (!dry && args_has(&cli->args, "wait") && *last != '\0')
        return follow(cli, reply.json);
    if (cli->json)
        print_json(buf_slice(&reply.text));
    else if (dry)
        plan_print(reply.json, &cli->screen);
    else if (ids == NULL && *last != '\0')
        puts(last);
    else
        for (size_t i = 0; i < json_array_size(ids); i++)
            if (json_is_string(json_array_get(ids, i)))
                puts(json_string_value(json_array_get(ids, i)));
    return CLI_OK;
}

/* The directory that a worker has given the job in which we run: it is gone when that has ended. */
static bool is_of_job(const char *dir)
{
    const char *job_file = getenv("WAYBILL_JOB_FILE");
    const char *slash = job_file != NULL ? strrchr(job_file, '/') : NULL;
    size_t size = slash != NULL ? (size_t)(slash + 1 - job_file) : 0;

    return size > 0 && strncmp(dir, job_file, size) == 0;
}

/* A command runs where it was typed, if the server is on this machine. */
static enum err_code add_workdir(struct cli *cli, struct buf *out, struct err *err)
{
    const struct args *a = &cli->args;
    CLEANUP(mem) char *here = NULL;
    struct client *client = NULL;

    if (a->program.count == 0 || args_has(a, "workdir"))
        return E_OK;
    if (cli_client(cli, &client, err) != E_OK)
        return err->code;
    here = client_is_local(client) ? getcwd(NULL, 0) : NULL;
    if (here == NULL || is_of_job(here))
        return E_OK;
    return job_workdir_add(here, out, err);
}

/* What the words and options of the line say. */
static enum err_code line_text(struct cli *cli, struct buf *out, struct err *err)
{
    if (job_text(&cli->args, out, err) != E_OK)
        return err->code;
    out->size--; /* its end comes once more */
    if (args_has(&cli->args, "redo"))
        jtext_put_bool(out, "redo", true);
    if (add_workdir(cli, out, err) != E_OK)
        return err->code;
    buf_add_char(out, '}');
    return E_OK;
}

static int add_whole(struct cli *cli, struct slice line)
{
    CLEANUP(buf) struct buf jobs = BUF_INIT(BODY_ARRAY_MAX);
    struct err err = ERR_INIT;
    bool many = false;

    if (job_merge(args_text(&cli->args, "job"), line, &jobs, &many, &err) != E_OK)
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
    if (args_word(a, 0) == NULL && a->program.count == 0 && !args_has(a, "job") && lines == NULL)
        return cli_usage(cli, "QUEUE is missing; or give a command (-- CMD), or a whole job "
                              "(--job @FILE)");
    if (line_text(cli, &job, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    if (lines != NULL)
        return job_lines_add(cli, lines, buf_slice(&job));
    return args_has(a, "job") ? add_whole(cli, buf_slice(&job)) : submit(cli, buf_slice(&job));
}
