/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/each.h"
#include "cli/each_lines.h"
#include "cli/each_words.h"

#define SHELL_LINE_MAX ((size_t)256 << 20)
#define SEPARATOR_ROOM 1024

/* ---- --rate ---- */

/* 10/1m, 5/s, 100/1h: so many starts in so long. */
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

/* ---- --dry-run ---- */

static enum err_code print_command(const struct each_options *o, const struct each_lines *l,
                                   struct slice line, struct buf *out, struct err *err)
{
    buf_clear(out);
    if ((o->json ? each_add_words(o->command, line, out, err)
                 : each_add_shell(o->command, line, out, err)) != E_OK)
        return err_wrap(err, "line %lld", (long long)l->count);
    buf_add_char(out, '\n');
    fwrite(out->data, 1, out->size, stdout);
    return E_OK;
}

static enum err_code print_commands(const struct each_options *o, struct each_lines *l,
                                    struct err *err)
{
    CLEANUP(buf) struct buf out = BUF_INIT(SHELL_LINE_MAX);
    struct slice line = {NULL, 0};
    bool found = true;

    while (!ferror(stdout)) {
        if (each_lines_next(l, &line, &found, err) != E_OK ||
            (found && print_command(o, l, line, &out, err) != E_OK))
            return err->code;
        if (found)
            continue;
        if (l->ended)
            break;
        size_t size = 0;
        char *room = each_lines_room(l, &size);
        ssize_t n = read(STDIN_FILENO, room, size);

        if (n < 0 && errno != EINTR)
            return err_errno(err, E_INVALID, "read the input");
        if (n > 0)
            each_lines_added(l, (size_t)n);
        else if (n == 0)
            each_lines_end(l);
    }
    return E_OK;
}

static int dry_run(struct cli *cli, const struct each_options *o)
{
    struct each_lines lines;
    struct err err = ERR_INIT;

    each_lines_init(&lines, o->line_end);
    enum err_code code = print_commands(o, &lines, &err);

    each_lines_deinit(&lines);
    return code == E_OK ? CLI_OK : cli_fail(cli, &err);
}

/* ---- the verb ---- */

static int count_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

static enum err_code gather(const struct args *a, struct each_options *o, struct err *err)
{
    const char *rate = args_text(a, "rate");

    o->slots = (int)args_int(a, "jobs", count_cores());
    o->retries = args_int(a, "retry", 0);
    o->timeout_us = args_duration_us(a, "timeout", 0);
    o->line_end = args_has(a, "null") ? '\0' : '\n';
    /* One after the other is an order, too, though ends come in batches. */
    o->keeps_order = args_has(a, "keep-order") || (o->slots == 1 && o->retries == 0);
    o->again = args_has(a, "again");
    o->failed = args_has(a, "failed");
    if (o->again && o->failed)
        return err_set(err, E_INVALID, "--again begins anew, --failed goes on: give one of them");
    if (args_has(a, "timeout") && o->timeout_us < US_PER_MS)
        return err_set(err, E_INVALID, "--timeout: must be at least 1ms");
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

int cmd_each(struct cli *cli)
{
    const struct args *a = &cli->args;
    CLEANUP(buf) struct buf separator = BUF_INIT(SEPARATOR_ROOM);
    struct each_command command;
    struct each_options options = {.command = &command, .json = cli->json};
    struct err err = ERR_INIT;

    fill_standard_files();
    if (args_text(a, "colsep") != NULL &&
        each_separator_parse(args_text(a, "colsep"), &separator, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    if (each_command_init(&command, a->program.items, a->program.count, buf_slice(&separator),
                          &err) != E_OK ||
        gather(a, &options, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    if (args_has(a, "dry-run"))
        return dry_run(cli, &options);
    if (args_has(a, "show"))
        return each_show_failed(cli, &command);
    if (each_command_check_program(&command, &err) != E_OK)
        return cli_fail(cli, &err);
    return each_run_all(cli, &options);
}
