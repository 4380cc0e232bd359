/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/job_wait.h"
#include "cli/value.h"

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
    enum err_code code = client_call(client, &(struct client_request){.path = path, .range = range},
                                     reply, err);

    if (code != E_RANGE)
        return code;
    buf_clear(&reply->text); /* nothing has been printed yet */
    return E_OK;
}

/* Where the last `lines` lines begin; SIZE_MAX when there may be more of them before the text. */
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

/* Prints the last lines; *ret_offset is where the log goes on. */
static enum err_code print_tail(struct cli *cli, struct slice id, int64_t lines,
                                int64_t *ret_offset, struct err *err)
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
        *ret_offset = reply.range_first + (int64_t)text.size;
        if (from < text.size)
            job_print_log(cli, reply.range_first + (int64_t)from,
                          slice_make(text.data + from, text.size - from));
        fflush(stdout);
        return E_OK;
    }
}

struct printing {
    const struct cli *cli;
    int64_t offset;
};

static bool on_data(void *ctx, struct slice data)
{
    struct printing *p = ctx;

    job_print_log(p->cli, p->offset, data);
    p->offset += (int64_t)data.size;
    return !ferror(stdout);
}

static enum err_code print_all(struct cli *cli, struct slice id, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct printing p = {.cli = cli};
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%.*s/log", (int)id.size, id.data);
    return cli_call(cli, &(struct client_request){.path = path, .on_data = on_data, .ctx = &p},
                    &reply, err);
}

int cmd_log(struct cli *cli)
{
    struct slice id = value_job(args_word(&cli->args, 0));
    int64_t tail = args_int(&cli->args, "tail", -1);
    bool follow = args_has(&cli->args, "follow");
    int64_t offset = 0;
    struct err err = ERR_INIT;
    enum err_code code = E_OK;

    if (tail >= 0)
        code = print_tail(cli, id, tail, &offset, &err);
    if (code == E_OK && follow)
        code = job_follow_log(cli, id, offset, &err);
    else if (code == E_OK && tail < 0)
        code = print_all(cli, id, &err);
    return code == E_OK ? CLI_OK : cli_fail(cli, &err);
}
