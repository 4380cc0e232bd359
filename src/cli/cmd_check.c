/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/json.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/health.h"
#include "cli/store_check.h"
#include "core/definition.h"
#include "server/definition_files.h"

/* How much a file has added. */
struct file_counts {
    size_t queues, joins;
};

/* `file` is NULL for what is wrong with all of them together. */
static void print_file_json(const char *file, struct file_counts counts, const struct err *err)
{
    CLEANUP(buf) struct buf line = BUF_INIT(8192);

    buf_add_char(&line, '{');
    if (file != NULL)
        json_put_string(&line, "file", slice_of(file));
    json_put_bool(&line, "ok", err->code == E_OK);
    if (err->code == E_OK) {
        json_put_int(&line, "queues", (int64_t)counts.queues);
        json_put_int(&line, "joins", (int64_t)counts.joins);
    } else {
        json_put_string(&line, "error", slice_of(err->msg));
    }
    buf_add_char(&line, '}');
    puts(buf_text(&line));
}

static void print_file(const char *file, struct file_counts counts)
{
    printf("%s: ok, %zu queue%s", file, counts.queues, counts.queues == 1 ? "" : "s");
    if (counts.joins > 0)
        printf(", %zu join%s", counts.joins, counts.joins == 1 ? "" : "s");
    printf("\n");
}

static bool check_file(struct cli *cli, const char *file, struct definitions *d)
{
    struct file_counts before = {d->queues.count, d->joins.count};
    struct err err = ERR_INIT;
    bool ok = definitions_read(d, file, &err) == E_OK;
    struct file_counts counts = {d->queues.count - before.queues, d->joins.count - before.joins};

    if (cli->json)
        print_file_json(file, counts, &err);
    else if (ok)
        print_file(file, counts);
    else
        (void)cli_fail(cli, &err);
    return ok;
}

/* What a queue or a join leads to must be in one of the files. */
static bool check_names(struct cli *cli, const struct definitions *d)
{
    struct err err = ERR_INIT;

    if (definitions_check_names(d, &err) == E_OK)
        return true;
    if (cli->json)
        print_file_json(NULL, (struct file_counts){0}, &err);
    else
        (void)cli_fail(cli, &err);
    return false;
}

/* Files are read one after the other: together they must be right, too. */
static int check_files(struct cli *cli)
{
    CLEANUP(definitions) struct definitions d;
    bool ok = true;

    definitions_init(&d);
    for (size_t i = 0; i < cli->args.words.count; i++)
        ok &= check_file(cli, cli->args.words.items[i], &d);
    return ok && check_names(cli, &d) ? CLI_OK : CLI_USAGE;
}

int cmd_check(struct cli *cli)
{
    bool store = args_has(&cli->args, "store");

    if (args_has(&cli->args, "full") && !store)
        return cli_usage(cli, "--full goes with --store");
    if (cli->args.words.count > 0 && store)
        return cli_usage(cli, "say files or --store, not both");
    if (cli->args.words.count > 0)
        return check_files(cli);
    return store ? store_check_run(cli) : health_check(cli);
}
