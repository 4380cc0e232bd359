/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "each/each.h"

#define SEPARATOR_ROOM 1024

/* ---- --rate ---- */

/* 10/1m, 5/s, 100/1h: starts per time. */
static enum err_code parse_rate(const char *text, struct each_options *o, struct err *err)
{
    char *end = NULL;

    errno = 0;
    long long starts = strtoll(text, &end, 10);
    const char *per = *end == '/' ? end + 1 : NULL;
    char with_number[64];

    if (per == NULL || end == text || errno != 0 || starts < 1 || starts > 1000000)
        return err_set(err, E_INVALID, "--rate: '%.40s' is not of the form 10/1m", text);
    if (per[0] >= 'a' && per[0] <= 'z' && strlen(per) < sizeof(with_number) - 1) {
        snprintf(with_number, sizeof(with_number), "1%s", per);
        per = with_number;
    }
    if (duration_parse(slice_of(per), &o->rate_per_us, err) != E_OK)
        return err_wrap(err, "--rate");
    if (o->rate_per_us <= 0)
        return err_set(err, E_INVALID, "--rate: '%.40s' has no length of time", text);
    o->rate_starts = starts;
    return E_OK;
}

/* ---- the verb ---- */

/* Also after `--`, where options belong to the program: `::: a b` is part of no command. */
static enum err_code refuse_items(const struct args *a, struct err *err)
{
    for (size_t i = 0; i < a->program.count; i++) {
        const char *word = a->program.items[i];
        const char *advice = strncmp(word, ":::", 3) == 0 ? command_foreign(a->command, word, NULL)
                                                          : NULL;

        if (advice != NULL)
            return err_set(err, E_INVALID, "'%.20s': %s", word, advice);
    }
    return E_OK;
}

/* It may be intended: print a hint, not an error. */
static void hint_at_foreign(const struct each_command *c)
{
    struct slice found = each_command_foreign(c);

    if (found.size > 0)
        fprintf(stderr,
                "waybill: '%.*s' of GNU parallel is unsupported and left unchanged; for a part "
                "of a column use a shell: sh -c 'echo \"${1%%.*}\"' sh {1}\n",
                (int)found.size, found.data);
}

static enum err_code check_results(const char *dir, struct err *err)
{
    if (dir == NULL || strchr(dir, '{') == NULL)
        return E_OK;
    return err_set(err, E_INVALID,
                   "--results: '%.80s' must be one directory; each line gets a directory in it, "
                   "named by its number",
                   dir);
}

static enum err_code gather(const struct args *a, struct each_options *o, struct err *err)
{
    const char *rate = args_text(a, "rate");

    o->slots = (int)args_int(a, "jobs", cli_cores());
    o->retries = args_int(a, "retry", 0);
    o->timeout_us = args_duration_us(a, "timeout", 0);
    o->line_end = args_has(a, "null") ? '\0' : '\n';
    /* With one slot the order is that of the input, although ends arrive in batches. */
    o->keeps_order = args_has(a, "keep-order") || (o->slots == 1 && o->retries == 0);
    o->again = args_has(a, "again");
    o->failed = args_has(a, "failed");
    o->results = args_text(a, "results");
    if (o->results != NULL && o->json)
        return err_set(err, E_INVALID,
                       "--results and --json exclude each other: the documents have the outputs");
    if (check_results(o->results, err) != E_OK)
        return err->code;
    if (o->again && o->failed)
        return err_set(err, E_INVALID, "--again starts over, --failed continues: give only one");
    if (o->failed && args_has(a, "dry-run"))
        return err_set(err, E_INVALID,
                       "--dry-run prints commands for lines of input, and --failed reads none: "
                       "--show prints the failed lines of the run");
    if (args_has(a, "timeout") && o->timeout_us < US_PER_MS)
        return err_set(err, E_INVALID, "--timeout: must be at least 1ms");
    if (args_has(a, "halt") && each_halt_parse(args_text(a, "halt"), &o->halt, err) != E_OK)
        return err->code;
    return rate != NULL ? parse_rate(rate, o, err) : E_OK;
}

/* Descriptors that we open must not be taken for our input or output. */
static void fill_standard_files(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = dup(fd);
    if (fd >= 0)
        close(fd);
}

/* Never closed: the process ends with it. */
static enum err_code open_input(const char *file, int *ret_fd, struct err *err)
{
    int fd = file != NULL ? open(file, O_RDONLY | O_CLOEXEC) : *ret_fd;

    if (fd < 0)
        return err_errno(err, errno == ENOENT ? E_NOT_FOUND : E_INVALID, "--arg-file %s", file);
    *ret_fd = fd;
    return E_OK;
}

int cmd_each(struct cli *cli)
{
    const struct args *a = &cli->args;
    CLEANUP(buf) struct buf separator = BUF_INIT(SEPARATOR_ROOM);
    struct each_command command;
    struct each_options options = {
        .command = &command, .in = STDIN_FILENO, .json = cli->json, .outputs = cli->outputs};
    struct err err = ERR_INIT;

    fill_standard_files();
    if (args_has(a, "list"))
        return each_list_unfinished(cli);
    if (args_text(a, "colsep") != NULL &&
        each_separator_parse(args_text(a, "colsep"), &separator, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    const struct each_cut cut = {.separator = buf_slice(&separator),
                                 .lines = (size_t)args_int(a, "lines", 1)};

    if (refuse_items(a, &err) != E_OK ||
        each_command_init(&command, a->program.items, a->program.count, &cut, &err) != E_OK ||
        gather(a, &options, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    hint_at_foreign(&command);
    if (open_input(args_text(a, "arg-file"), &options.in, &err) != E_OK)
        return cli_fail(cli, &err);
    if (args_has(a, "dry-run"))
        return each_dry_run(cli, &options);
    if (args_has(a, "show"))
        return each_show_failed(cli, &command);
    if (each_command_check_program(&command, &err) != E_OK)
        return cli_fail(cli, &err);
    return each_run_all(cli, &options);
}
