/*
 * `each --dry-run`: prints the commands that would run, and runs nothing.
 *
 * If the command would continue an unfinished run, the run's own server judges the lines that the
 * store has, by the same request with `dry_run`: lines that have ended are left out, and an input
 * that differs is refused.  Nothing is printed before all these lines are confirmed, since nothing
 * would run before.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "each/each.h"
#include "each/input.h"
#include "each/line/words.h"
#include "each/run.h"
#include "each/store.h"
#include "own/server.h"
#include "worker/client/url.h"

#define SHELL_LINE_MAX ((size_t)256 << 20)
#define HELD_MAX ((size_t)1 << 30)

struct dry_run {
    const struct each_options *options;
    struct each_items items;
    struct buf text; /* of one command */

    struct client *client;      /* of the unfinished run; NULL: there is none */
    int64_t known;              /* lines that its store has */
    struct each_line_list live; /* of those: have not ended */
    struct buf chunk;           /* of those: to be judged next */
    int64_t first;              /* line of the chunk */
    struct buf held;            /* text to be printed when all of them are confirmed */
};

static void print(const struct dry_run *d, const struct buf *text)
{
    if (d->options->json)
        fwrite(text->data, 1, text->size, stdout);
    else
        output_log(d->options->outputs, buf_slice(text));
}

/* ---- lines of an unfinished run ---- */

static enum err_code judge_chunk(struct dry_run *d, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;

    buf_add_char(&d->chunk, ']');
    const struct client_request request = {.method = "POST",
                                           .path = "/v1/jobs?dry_run=1",
                                           .body = buf_slice(&d->chunk)};
    const struct each_chunk chunk = {.command = d->options->command,
                                     .jobs = request.body,
                                     .first = d->first};

    if (client_call(d->client, &request, &reply, err) != E_OK)
        return each_chunk_refused(&chunk, buf_slice(&reply.text), err);
    buf_clear(&d->chunk);
    return E_OK;
}

static enum err_code take_known(struct dry_run *d, const struct each_item *item, struct err *err)
{
    if (d->chunk.size == 0)
        d->first = item->number;
    if (each_chunk_add(&d->chunk, d->options->command, item, err) != E_OK)
        return err->code;
    if (each_line_list_has(&d->live, item->number))
        buf_add_slice(&d->held, buf_slice(&d->text));
    if (d->held.overflowed)
        return err_set(err, E_TOO_LARGE, "the commands are longer than %zu MiB", HELD_MAX >> 20);
    bool is_last = item->number == d->known;

    if ((is_last || item->number - d->first + 1 >= EACH_CHUNK_LINES ||
         d->chunk.size >= EACH_CHUNK_BYTES) &&
        judge_chunk(d, err) != E_OK)
        return err->code;
    if (is_last)
        print(d, &d->held);
    return E_OK;
}

/* ---- all lines ---- */

static enum err_code take_line(struct dry_run *d, const struct each_item *item, struct err *err)
{
    const struct each_command *c = d->options->command;

    buf_clear(&d->text);
    if ((d->options->json ? each_add_words(c, item, &d->text, err)
                          : each_add_shell(c, item, &d->text, err)) != E_OK)
        return err_wrap(err, "%s %" PRId64, each_item_word(c), item->number);
    buf_add_char(&d->text, '\n');
    if (item->number <= d->known)
        return take_known(d, item, err);
    print(d, &d->text);
    return E_OK;
}

static enum err_code read_piece(struct dry_run *d, struct err *err)
{
    size_t size = 0;
    char *room = each_lines_room(&d->items.lines, &size);
    ssize_t n = read(d->options->in, room, size);

    if (n < 0 && errno != EINTR)
        return err_errno(err, E_INVALID, "read the input");
    if (n > 0)
        each_lines_added(&d->items.lines, (size_t)n);
    else if (n == 0)
        each_lines_end(&d->items.lines);
    return E_OK;
}

static enum err_code take_lines(struct dry_run *d, struct err *err)
{
    struct each_item item;
    bool found = true;

    while (!ferror(stdout)) {
        if (each_items_next(&d->items, &item, &found, err) != E_OK)
            return err->code;
        if (!found && each_items_over(&d->items))
            break;
        if ((found ? take_line(d, &item, err) : read_piece(d, err)) != E_OK)
            return err->code;
    }
    return d->items.count < d->known ? each_input_is_short(d->items.count, d->known, err) : E_OK;
}

/* ---- the run ---- */

static enum err_code look_at_store(struct dry_run *d, const char *url, struct err *err)
{
    struct each_counts counts = {.done = 0};

    if (client_open(&(struct client_config){.url = url}, &d->client, err) != E_OK ||
        each_store_counts(d->client, &counts, err) != E_OK ||
        each_store_live_lines(d->client, &d->live, err) != E_OK)
        return err->code;
    int64_t ended = counts.done + counts.failed;

    d->known = ended + counts.live;
    if (ended > 0)
        fprintf(stderr, "this run is unfinished: %" PRId64 " %s already ended (--again: all)\n",
                ended, ended == 1 ? "line has" : "lines have");
    return E_OK;
}

static enum err_code take_unfinished(struct dry_run *d, const char *data_dir, struct err *err)
{
    CLEANUP(each_run) struct each_run run = EACH_RUN_INIT;
    CLEANUP(own_server) struct own_server server = OWN_SERVER_INIT;

    if (each_run_open(data_dir, d->options->command, &run, err) != E_OK)
        return err->code;
    if (run.dir.own.holder != 0)
        return run_dir_busy(&run.dir, err);
    if (run_dir_wait_for_store(&run.dir, err) != E_OK ||
        own_server_start(&server, &(struct own_server_config){.data_dir = run.dir.store}, err) !=
            E_OK ||
        look_at_store(d, server.url, err) != E_OK)
        return err->code;
    return take_lines(d, err);
}

static enum err_code take_all(struct dry_run *d, struct err *err)
{
    CLEANUP(mem) char *data_dir = NULL;
    bool is_unfinished = false;

    if (client_data_dir(NULL, &data_dir, err) != E_OK ||
        each_run_find_unfinished(data_dir, d->options->command, &is_unfinished, err) != E_OK)
        return err->code;
    return is_unfinished && !d->options->again ? take_unfinished(d, data_dir, err)
                                               : take_lines(d, err);
}

int each_dry_run(struct cli *cli, const struct each_options *options)
{
    struct dry_run d = {.options = options,
                        .text = BUF_INIT(SHELL_LINE_MAX),
                        .chunk = BUF_INIT(EACH_CHUNK_MAX),
                        .held = BUF_INIT(HELD_MAX)};
    struct err err = ERR_INIT;

    each_items_init(&d.items, options->line_end, options->command->lines);
    enum err_code code = take_all(&d, &err);

    client_close(d.client);
    each_items_deinit(&d.items);
    buf_deinit(&d.text);
    buf_deinit(&d.chunk);
    buf_deinit(&d.held);
    VEC_DEINIT(&d.live);
    return code == E_OK ? CLI_OK : cli_fail(cli, &err);
}
