/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/clock.h"
#include "cli/answer.h"
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

/* ---- with times ---- */

/* Where pieces of the log begin, and when they came: [[OFFSET, "TIME"], …] in the order of offsets. */
struct times {
    const json_t *pieces;
    size_t next; /* the first piece behind where we are */
};

/* The time of the piece that has this place, or "". */
static const char *time_at(struct times *t, int64_t offset)
{
    const json_t *piece = NULL;

    while ((piece = json_array_get(t->pieces, t->next)) != NULL &&
           json_integer_value(json_array_get(piece, 0)) <= offset)
        t->next++;
    if (t->next == 0)
        return "";
    const char *text = json_string_value(json_array_get(json_array_get(t->pieces, t->next - 1), 1));

    return text != NULL ? text : "";
}

static void print_with_times(struct slice log, int64_t offset, const json_t *pieces)
{
    struct times times = {.pieces = pieces};

    while (log.size > 0) {
        const char *stop = memchr(log.data, '\n', log.size);
        size_t size = stop == NULL ? log.size : (size_t)(stop - log.data) + 1;

        printf("%-*s  ", TIME_TEXT_SIZE - 1, time_at(&times, offset));
        fwrite(log.data, 1, size, stdout);
        offset += (int64_t)size;
        log = slice_make(log.data + size, log.size - size);
    }
}

/* The whole log and the times beside it; the last lines only when `tail` is not below 0. */
static enum err_code print_timed(struct cli *cli, struct slice id, int64_t tail, struct err *err)
{
    CLEANUP(client_reply) struct client_reply log = CLIENT_REPLY_INIT;
    CLEANUP(client_reply) struct client_reply times = CLIENT_REPLY_INIT;
    struct client *client = NULL;
    char path[64];

    snprintf(path, sizeof(path), "/v1/jobs/%.*s/log", (int)id.size, id.data);
    if (cli_client(cli, &client, err) != E_OK ||
        client_call(client, &(struct client_request){.path = path}, &log, err) != E_OK)
        return err->code;
    snprintf(path, sizeof(path), "/v1/jobs/%.*s/log?times=1", (int)id.size, id.data);
    if (cli_get(cli, path, &times, err) != E_OK)
        return err->code;
    struct slice text = buf_slice(&log.text);
    size_t from = tail < 0 ? 0 : find_lines(text, tail);

    if (from == SIZE_MAX)
        from = 0;
    if (cli->json)
        print_json(buf_slice(&times.text));
    else if (from < text.size)
        print_with_times(slice_make(text.data + from, text.size - from), (int64_t)from,
                         json_object_get(times.json, "times"));
    return E_OK;
}

int cmd_log(struct cli *cli)
{
    struct slice id = value_job(args_word(&cli->args, 0));
    int64_t tail = args_int(&cli->args, "tail", -1);
    bool follow = args_has(&cli->args, "follow");
    bool times = args_has(&cli->args, "times");
    int64_t offset = 0;
    struct err err = ERR_INIT;
    enum err_code code = E_OK;

    if (times && follow)
        return cli_usage(cli, "--times and --follow exclude each other");
    if (times)
        code = print_timed(cli, id, tail, &err);
    else if (tail >= 0)
        code = print_tail(cli, id, tail, &offset, &err);
    else if (!follow)
        code = print_all(cli, id, &err);
    if (code != E_OK)
        return cli_fail(cli, &err);
    return follow ? job_follow(cli, id, offset) : CLI_OK;
}
