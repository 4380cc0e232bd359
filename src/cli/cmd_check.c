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

struct file_result {
    const char *file;
    struct file_counts counts;
    struct err err;
};

static void read_one(struct definitions *d, struct file_result *r)
{
    struct file_counts before = {d->queues.count, d->joins.count};

    (void)!definitions_read(d, r->file, &r->err);
    r->counts.queues = d->queues.count - before.queues;
    r->counts.joins = d->joins.count - before.joins;
}

static void print_result(struct cli *cli, const struct file_result *r)
{
    if (cli->json)
        print_file_json(r->file, r->counts, &r->err);
    else if (r->err.code == E_OK)
        print_file(r->file, r->counts);
    else
        (void)cli_fail(cli, &r->err);
}

/* Files are read one after the other: together they must be right, too, and what a queue or a join leads to must
 * be in one of them. */
static int check_files(struct cli *cli)
{
    CLEANUP(definitions) struct definitions d;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    size_t n = cli->args.words.count;
    struct file_result *results = arena_array(&arena, n, sizeof(*results));
    struct file_result names = {.err = ERR_INIT};
    bool ok = true;

    definitions_init(&d);
    for (size_t i = 0; i < n; i++) {
        results[i].file = cli->args.words.items[i];
        read_one(&d, &results[i]);
        ok &= results[i].err.code == E_OK;
    }
    if (ok && definitions_check_names(&d, &names.err) != E_OK) {
        print_result(cli, &names);
        return CLI_USAGE;
    }
    for (size_t i = 0; i < n; i++)
        print_result(cli, &results[i]);
    return ok ? CLI_OK : CLI_USAGE;
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
