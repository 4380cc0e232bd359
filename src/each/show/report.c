/* SPDX-License-Identifier: MIT */
#include "each/show/report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/jtext/jtext.h"
#include "base/slice.h"
#include "cli/view/command_text.h"
#include "each/each.h"
#include "each/json.h"
#include "each/line/words.h"
#include "each/run.h"
#include "each/store.h"
#include "own/server.h"
#include "worker/client/url.h"

#define FAILURES_SHOWN 10
#define TEXT_MAX ((size_t)1 << 20)

static void say_what_to_try(const struct each_command *c, const char *option, const char *what)
{
    CLEANUP(buf) struct buf line = BUF_INIT(TEXT_MAX);

    /* `waybill each OPTION -- CMD…`, as it would be typed. */
    buf_addf(&line, "waybill each %s", option);
    if (c->separator.size > 0) {
        buf_add_str(&line, " --colsep ");
        command_add_word(&line, slice_is(c->separator, "\t") ? SLICE("\\t") : c->separator);
    }
    if (c->lines > 1)
        buf_addf(&line, " -N %zu", c->lines);
    buf_add_str(&line, " --");
    for (size_t i = 0; i < c->n_words; i++) {
        buf_add_char(&line, ' ');
        command_add_word(&line, slice_of(c->words[i]));
    }
    fprintf(stderr, "%s: %s\n", what, buf_text(&line));
}

static void list_failures(const struct each_end *end)
{
    CLEANUP(client) struct client *c = NULL;
    struct each_failures failures = VEC_INIT;
    struct err err = ERR_INIT;
    bool all = true;

    if (client_open(&(struct client_config){.url = end->server_url}, &c, &err) != E_OK ||
        each_store_failures(c, FAILURES_SHOWN, &failures, &all, &err) != E_OK) {
        fprintf(stderr, "waybill: the failed lines cannot be listed: %s\n", err.msg);
        return;
    }
    for (size_t i = 0; i < failures.count; i++)
        fprintf(stderr, "  %s %" PRId64 ": %s  (%s)\n", each_item_word(end->command),
                failures.items[i].line, failures.items[i].input, failures.items[i].what);
    if (!all)
        fprintf(stderr, "  …\n");
    each_failures_deinit(&failures);
}

static void report_failures(const struct each_end *end)
{
    list_failures(end);
    say_what_to_try(end->command, "--show", "to see what they printed");
    say_what_to_try(end->command, "--failed", "to run them again");
}

/* With an input that is wrong the same command would end here again. */
static void say_how_to_go_on(enum err_code code)
{
    if (code == E_INVALID || code == E_TOO_LARGE)
        fprintf(stderr, "fix the input; the same command then continues from here\n");
    else if (code != E_CONFLICT)
        fprintf(stderr, "the same command continues from here\n");
}

static void say_what_is_left(int64_t left, int64_t unprinted)
{
    if (unprinted > 0)
        fprintf(stderr,
                "outputs not printed before a kill: %" PRId64 "; the same command without "
                "--failed prints them, with the same input\n",
                unprinted);
    if (left > 0)
        fprintf(stderr,
                "%" PRId64 " %s not run yet; the same command without --failed runs %s, with the "
                "same input\n",
                left, left == 1 ? "line has" : "lines have", left == 1 ? "it" : "them");
    if (unprinted == 0 && left == 0)
        fprintf(stderr, "the input may not have been read to its end; the same command without "
                        "--failed continues the run, with the same input\n");
}

int each_report(const struct cli *cli, const struct each_end *end)
{
    if (end->out_fault == EPIPE)
        return 128 + SIGPIPE;
    CLEANUP(buf) struct buf text = BUF_INIT(1000);

    run_result_add(&text, &end->result);
    fputs(buf_text(&text), stderr);
    if (end->finished && end->err.code == E_OK) {
        if (end->is_open)
            say_what_is_left(end->result.left, end->unprinted);
        if (end->result.failed > 0)
            report_failures(end);
        return end->is_open || end->result.failed > 0 ? CLI_FAILED : CLI_OK;
    }
    int status = CLI_FAILED;

    if (end->signal != 0)
        status = 128 + end->signal;
    else if (end->halted)
        report_failures(end);
    else if (end->out_fault != 0)
        fprintf(stderr, "waybill: cannot write the output: %s\n", strerror(end->out_fault));
    else
        status = cli_fail(cli, &end->err);
    say_how_to_go_on(end->err.code);
    return status;
}

/* ---- --show ---- */

static bool print_piece(void *ctx, struct slice data)
{
    output_log(ctx, data);
    return !ferror(stdout);
}

static enum err_code show_json(struct client *c, const struct each_failure *f, struct err *err)
{
    CLEANUP(client_reply) struct client_reply job = CLIENT_REPLY_INIT;
    CLEANUP(client_reply) struct client_reply log = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf document = BUF_INIT(EACH_JSON_MAX);
    char path[64];
    const struct client_request request = {.path = path};
    struct slice object = {NULL, 0};

    snprintf(path, sizeof(path), "/v1/jobs/%s", f->id);
    if (client_call(c, &request, &job, err) != E_OK ||
        jtext_check(buf_slice(&job.text), &object, err) != E_OK)
        return err->code;
    snprintf(path, sizeof(path), "/v1/jobs/%s/log", f->id);
    if (client_call(c, &request, &log, err) != E_OK)
        return err->code;
    each_json_add_job(&document, f->line, object, slice_make(buf_text(&log.text), log.text.size));
    fwrite(document.data, 1, document.size, stdout);
    return E_OK;
}

static enum err_code show_one(const struct cli *cli, struct client *c, const struct each_failure *f,
                              struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    char path[64];
    const struct client_request request = {.path = path,
                                           .on_data = print_piece,
                                           .ctx = cli->outputs};

    snprintf(path, sizeof(path), "/v1/jobs/%s/log", f->id);
    printf("==> line %" PRId64 ": %s (%s) <==\n", f->line, f->input, f->what);
    enum err_code code = client_call(c, &request, &reply, err);

    output_log_end(cli->outputs);
    return code;
}

static enum err_code show_all(const struct cli *cli, const char *url, struct err *err)
{
    CLEANUP(client) struct client *c = NULL;
    struct each_failures failures = VEC_INIT;
    bool all = true;

    if (client_open(&(struct client_config){.url = url}, &c, err) != E_OK ||
        each_store_failures(c, SIZE_MAX, &failures, &all, err) != E_OK)
        return err->code;
    enum err_code code = E_OK;

    for (size_t i = 0; code == E_OK && i < failures.count && !ferror(stdout); i++)
        code = cli->json ? show_json(c, &failures.items[i], err)
                         : show_one(cli, c, &failures.items[i], err);
    if (failures.count == 0)
        fprintf(stderr, "no line has failed\n");
    each_failures_deinit(&failures);
    return code;
}

/* While the run is active, its own server answers. */
static enum err_code show_run(const struct cli *cli, struct each_run *run, struct err *err)
{
    CLEANUP(own_server) struct own_server server = OWN_SERVER_INIT;
    CLEANUP(buf) struct buf url = BUF_INIT(TEXT_MAX);

    if (!run->dir.is_there)
        return err_set(err, E_NOT_FOUND,
                       "no such run: --show needs an earlier run of the same command "
                       "in this directory");
    if (run->dir.own.holder != 0) {
        buf_addf(&url, "unix:%s/" CLIENT_SOCKET_NAME, run->dir.store);
        return show_all(cli, buf_text(&url), err);
    }
    if (run_dir_wait_for_store(&run->dir, err) != E_OK ||
        own_server_start(&server, &(struct own_server_config){.data_dir = run->dir.store}, err) !=
            E_OK)
        return err->code;
    return show_all(cli, server.url, err);
}

int each_show_failed(struct cli *cli, const struct each_command *command)
{
    CLEANUP(each_run) struct each_run run = EACH_RUN_INIT;
    CLEANUP(mem) char *data_dir = NULL;
    struct err err = ERR_INIT;

    if (client_data_dir(NULL, &data_dir, &err) != E_OK ||
        each_run_open(data_dir, command, &run, &err) != E_OK || show_run(cli, &run, &err) != E_OK)
        return cli_fail(cli, &err);
    return CLI_OK;
}
