/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/live/job_wait.h"
#include "cli/live/log_print.h"
#include "cli/table/value.h"
#include "cli/view/reply_json.h"

#define TAIL_FIRST ((int64_t)64 << 10)
#define TAIL_MAX ((int64_t)64 << 20)

/* A part of the log: the last `size` bytes of it. */
static enum err_code read_end(struct cli *cli, struct slice id, int64_t size,
                              struct client_reply *reply, struct err *err)
{
    char path[64];
    char range[32];
    struct client *client = NULL;

    snprintf(path, sizeof(path), "/v1/jobs/%.*s/log", (int)id.size, id.data);
    snprintf(range, sizeof(range), "-%" PRId64, size);
    if (cli_client(cli, &client, err) != E_OK)
        return err->code;
    enum err_code code = client_call(
        client,
        &(struct client_request){.path = path, .patience_s = CLI_PATIENCE_S, .range = range}, reply,
        err);

    if (code != E_RANGE)
        return code;
    buf_clear(&reply->text); /* nothing has been printed yet */
    return E_OK;
}

/* Where the last `lines` lines start; SIZE_MAX when there may be more of them before the text. */
static size_t find_lines(struct slice text, int64_t lines)
{
    size_t at = text.size;

    if (lines == 0)
        return text.size;
    if (at > 0 && text.data[at - 1] == '\n')
        at--; /* ends the last line */
    for (; at > 0; at--) {
        if (text.data[at - 1] == '\n' && --lines == 0)
            return at;
    }
    return SIZE_MAX;
}

/* Prints the last lines and moves on to where the log ends. */
static enum err_code print_tail(struct cli *cli, struct slice id, int64_t lines,
                                struct log_printer *log, struct err *err)
{
    for (int64_t size = TAIL_FIRST;; size *= 8) {
        CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;

        if (read_end(cli, id, size, &reply, err) != E_OK)
            return err->code;
        struct slice text = buf_slice(&reply.text);
        size_t from = find_lines(text, lines);
        bool whole = reply.range_first == 0;

        if (from == SIZE_MAX && !whole && size < TAIL_MAX)
            continue;
        if (from == SIZE_MAX)
            from = 0;
        log_printer_skip_to(log, reply.range_first + (int64_t)from);
        if (from < text.size)
            log_printer_add(log, slice_make(text.data + from, text.size - from));
        fflush(stdout);
        return E_OK;
    }
}

static bool on_data(void *ctx, struct slice data)
{
    log_printer_add(ctx, data);
    return !ferror(stdout);
}

/* Asks once for what follows, to the end or to another place. */
static enum err_code ask_for_part(struct cli *cli, struct slice id, int64_t to,
                                  struct log_printer *log, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    char path[64];
    char range[64];
    struct client_request r = {.path = path, .on_data = on_data, .ctx = log};

    snprintf(path, sizeof(path), "/v1/jobs/%.*s/log", (int)id.size, id.data);
    if (to < INT64_MAX)
        snprintf(range, sizeof(range), "%" PRId64 "-%" PRId64, log->offset, to - 1);
    else
        snprintf(range, sizeof(range), "%" PRId64 "-", log->offset);
    if (log->offset > 0 || to < INT64_MAX)
        r.range = range;
    if (cli_call(cli, &r, &reply, err) != E_OK && err->code != E_RANGE)
        return err->code;
    return E_OK;
}

/* From where the printer is, to the end or to another place.  The server cuts off a connection from
 * which nothing is taken, as when a pager stands still: the rest is asked for again. */
static enum err_code print_part(struct cli *cli, struct slice id, int64_t to,
                                struct log_printer *log, struct err *err)
{
    while (log->offset < to) { /* not so for an attempt that has printed nothing */
        int64_t before = log->offset;
        enum err_code code = ask_for_part(cli, id, to, log, err);

        if (code != E_UNAVAILABLE || log->offset == before)
            return code;
    }
    return E_OK;
}

/* As JSON, times are what the server says of them. */
static enum err_code print_times_json(struct cli *cli, struct slice id, struct err *err)
{
    CLEANUP(client_reply) struct client_reply times = CLIENT_REPLY_INIT;
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%.*s/log?times=1", (int)id.size, id.data);
    if (cli_get(cli, path, &times, err) != E_OK)
        return err->code;
    print_json(buf_slice(&times.text));
    return E_OK;
}

static enum err_code print_log(struct cli *cli, struct slice id, struct log_printer *log,
                               struct err *err)
{
    const struct args *a = &cli->args;
    int64_t from = 0;
    int64_t to = INT64_MAX;

    if (args_has(a, "attempt") &&
        log_printer_attempt(log, args_int(a, "attempt", 1), &from, &to, err) != E_OK)
        return err->code;
    if (args_has(a, "tail"))
        return print_tail(cli, id, args_int(a, "tail", 0), log, err);
    log_printer_skip_to(log, from);
    return args_has(a, "follow") ? job_find(cli, id, err) : print_part(cli, id, to, log, err);
}

int cmd_log(struct cli *cli)
{
    const struct args *a = &cli->args;
    struct slice id = value_job(args_word(a, 0));
    struct log_printer log;
    struct err err = ERR_INIT;

    if (args_has(a, "attempt") && args_has(a, "tail"))
        return cli_usage(cli, "--attempt and --tail exclude each other");
    if (cli->json && args_has(a, "times"))
        return print_times_json(cli, id, &err) == E_OK ? CLI_OK : cli_fail(cli, &err);
    if (log_printer_open(&log, cli, id, args_has(a, "times"), &err) != E_OK)
        return cli_fail(cli, &err);
    int status = print_log(cli, id, &log, &err) != E_OK ? cli_fail(cli, &err)
                 : args_has(a, "follow")                ? job_follow(cli, id, &log)
                                                        : CLI_OK;

    log_printer_close(&log);
    return status;
}
