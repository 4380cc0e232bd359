/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/os/fault.h"
#include "base/os/log.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/table/value.h"
#include "run/machine.h"
#include "run/show/report.h"
#include "run/watch.h"
#include "worker/client/url.h"

/* Who only looks (--status, --show) has the directory for a moment. */
#define PEEK_US US_PER_S

/* ---- the line ---- */

static enum err_code read_values(struct cli *cli, struct instruction *ret_in, struct err *err)
{
    static const struct value_spec spec = {.type = VALUE_PARAM, .name = "KEY=VALUE|KEY:=JSON"};
    const struct args *a = &cli->args;
    size_t n = a->words.count - 1;
    struct instruction_value *values = arena_array(&cli->arena, n + 1, sizeof(*values));

    for (size_t i = 0; i < n; i++) {
        struct value_pair pair = value_pair_of(&spec, a->words.items[i + 1]);
        CLEANUP(buf) struct buf json = BUF_INIT(1 << 20);

        if (value_check(&spec, a->words.items[i + 1], err) != E_OK)
            return err->code;
        if (pair.is_json)
            buf_add_slice(&json, pair.value);
        else
            jtext_add_string(&json, pair.value);
        values[i].key = pair.key;
        if (jtext_check(arena_copy(&cli->arena, buf_slice(&json)), &values[i].json, err) != E_OK)
            return err_wrap(err, "%.*s", (int)pair.key.size, pair.key.data);
    }
    return instruction_init(ret_in, values, n, clock_wall_us(), err);
}

/* It gives no instruction. */
static bool is_about_all(const struct args *a)
{
    return args_has(a, "failed") || args_has(a, "status") || args_has(a, "show");
}

static enum err_code check_options(const struct args *a, struct err *err)
{
    static const char *const modes[] = {"again", "failed", "status", "show"};
    const char *given = NULL;

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (!args_has(a, modes[i]))
            continue;
        if (given != NULL)
            return err_set(err, E_INVALID, "--%s and --%s exclude each other", given, modes[i]);
        given = modes[i];
    }
    if (is_about_all(a) && a->words.count > 1)
        return err_set(err, E_INVALID, "--%s takes no KEY=VALUE: it is about all instructions",
                       given);
    return E_OK;
}

/* ---- looking only ---- */

static enum err_code join_or_start(struct machine *m, struct err *err)
{
    if (!m->dir.is_there)
        return err_set(err, E_NOT_FOUND, "%s has not been run yet", m->file);
    if (m->dir.own.holder != 0)
        return machine_join(m, err);
    return machine_start(m, &(struct own_server_config){.data_dir = m->dir.store}, err);
}

static enum err_code tell(const struct cli *cli, struct machine *m, struct err *err)
{
    CLEANUP(look) struct look look = LOOK_INIT;

    if (join_or_start(m, err) != E_OK)
        return err->code;
    if (args_has(&cli->args, "show"))
        return report_failed(cli, m, err);
    if (look_take(&look, m, err) != E_OK || look_add_waits(&look, m, err) != E_OK)
        return err->code;
    bool is_ended = look_judge(&look) == LOOK_DONE;
    const struct report report = {
        .m = m,
        .look = &look,
        .state = m->dir.own.holder != 0 ? "running"
                 : is_ended             ? "finished"
                                        : "unfinished",
        .is_ended = is_ended,
    };

    if (!cli->json)
        printf("%s: %s\n", m->path, report.state);
    return report_print(cli, &report, err);
}

/* ---- running ---- */

static enum err_code begin(struct cli *cli, struct machine *m, struct instruction *in,
                           struct err *err)
{
    const struct args *a = &cli->args;
    const struct own_server_config config = {
        .data_dir = m->dir.store,
        .listen = args_text(a, "listen"),
        .token_file = args_text(a, "listen") != NULL && m->definitions.server.token_file.size > 0
                          ? m->definitions.server.token_file.data
                          : NULL,
        .slots = (int)args_int(a, "jobs", cli_cores()),
    };
    int64_t n = 0;

    if (args_has(a, "again") && machine_forget(m, err) != E_OK)
        return err->code;
    if (args_has(a, "failed") && !m->dir.is_there)
        return err_set(err, E_NOT_FOUND, "%s has not been run yet", m->file);
    if (machine_start(m, &config, err) != E_OK || machine_define(m, err) != E_OK)
        return err->code;
    if (m->server.http != NULL)
        fprintf(stderr, "waybill: serving %s\n", m->server.http);
    if (args_has(a, "failed"))
        return machine_retry(m, &n, err);
    if (machine_instruct(m, in, err) != E_OK)
        return err->code;
    if (m->is_resumed)
        fprintf(stderr, "waybill: continuing this run\n");
    return E_OK;
}

static void say_how_to_go_on(const struct cli *cli)
{
    if (!cli->json)
        fprintf(stderr, "waybill: the same command continues\n");
}

/* Prints the report; returns the exit status. */
static int end(const struct cli *cli, struct machine *m, const struct look *look,
               enum watch_end how, int signal)
{
    static const char *const states[] = {[WATCH_DONE] = "done",
                                         [WATCH_WAITS] = "waiting",
                                         [WATCH_STUCK] = "stuck",
                                         [WATCH_SIGNAL] = "stopped"};
    const struct report report = {.m = m,
                                  .look = look,
                                  .state = states[how],
                                  .is_ended = how == WATCH_DONE,
                                  .shows_output = how == WATCH_DONE};
    struct err err = ERR_INIT;

    if (report_print(cli, &report, &err) != E_OK)
        return cli_fail(cli, &err);
    fflush(stdout);
    (void)fault_hit("run.reported");
    if (how == WATCH_DONE && run_dir_finish(&m->dir, &err) != E_OK)
        return cli_fail(cli, &err);
    switch (how) {
    case WATCH_DONE: return look->failed > 0 ? CLI_FAILED : CLI_OK;
    case WATCH_WAITS: say_how_to_go_on(cli); return CLI_NOT_NOW;
    case WATCH_STUCK:
        fprintf(stderr, "waybill: nothing that is left can go on by itself\n");
        say_how_to_go_on(cli);
        return CLI_FAILED;
    case WATCH_SIGNAL: say_how_to_go_on(cli); return 128 + signal;
    }
    return CLI_FAILED;
}

static int work(struct cli *cli, struct machine *m, struct instruction *in)
{
    CLEANUP(look) struct look look = LOOK_INIT;
    const struct watch_options options = {.no_wait = args_has(&cli->args, "no-wait"),
                                          .may_come = args_has(&cli->args, "listen")};
    enum watch_end how = WATCH_DONE;
    struct err err = ERR_INIT;
    int number = 0;

    if (m->dir.own.holder != 0) {
        (void)run_dir_busy(&m->dir, &err);
        int status = cli_fail(cli, &err);

        return options.no_wait ? CLI_NOT_NOW : status;
    }
    if (begin(cli, m, in, &err) != E_OK)
        return cli_fail(cli, &err);
    (void)fault_hit("run.begun");
    int signal_fd = watch_signals();

    if (watch_until_end(m, &options, signal_fd, &look, &how, &number, &err) != E_OK) {
        int status = cli_fail(cli, &err);

        say_how_to_go_on(cli);
        return status;
    }
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL); /* a second signal ends us, and with us the server */
    close(signal_fd);
    return end(cli, m, &look, how, number);
}

static int fail_to_read(const struct cli *cli, const struct machine *m, const struct err *err)
{
    if (m->faults.items.count == 0)
        return cli_fail(cli, err);
    for (size_t i = 0; i < m->faults.items.count; i++)
        (void)cli_fail(cli, &m->faults.items.items[i]);
    return CLI_USAGE;
}

static int run_machine(struct cli *cli, struct machine *m, struct instruction *in)
{
    const struct args *a = &cli->args;
    CLEANUP(mem) char *data_dir = NULL;
    CLEANUP(buf) struct buf filled = BUF_INIT((size_t)64 << 20);
    bool only_looks = args_has(a, "status") || args_has(a, "show");
    struct err err = ERR_INIT;

    log_set_level(LOG_LEVEL_ERROR); /* we report what matters ourselves */
    if (machine_read(m, &err) != E_OK)
        return fail_to_read(cli, m, &err);
    if (m->definitions.start.jobs.count == 0)
        return cli_usage(cli, "%s has no section 'start'", m->file);
    if (!is_about_all(a) &&
        instruction_fill(in, &m->definitions.start, slice_of(""), &filled, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    if (client_data_dir(NULL, &data_dir, &err) != E_OK ||
        machine_open(m, data_dir, only_looks ? 0 : PEEK_US, &err) != E_OK)
        return cli_fail(cli, &err);
    if (only_looks)
        return tell(cli, m, &err) == E_OK ? CLI_OK : cli_fail(cli, &err);
    return work(cli, m, in);
}

int cmd_run(struct cli *cli)
{
    struct instruction in;
    struct machine machine;
    struct err err = ERR_INIT;

    if (check_options(&cli->args, &err) != E_OK || read_values(cli, &in, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    machine_init(&machine, cli->args.words.items[0]);
    int status = run_machine(cli, &machine, &in);

    machine_close(&machine);
    return status;
}
