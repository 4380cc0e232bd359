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

static void print_file_json(const char *file, size_t queues, const struct err *err)
{
    CLEANUP(buf) struct buf line = BUF_INIT(8192);

    buf_add_str(&line, "{\"file\":");
    json_add_string(&line, slice_of(file));
    json_put_bool(&line, "ok", err->code == E_OK);
    if (err->code == E_OK) {
        json_put_int(&line, "queues", (int64_t)queues);
    } else {
        json_put_string(&line, "error", slice_of(err->msg));
    }
    buf_add_char(&line, '}');
    puts(buf_text(&line));
}

/* Files are read one after the other: together they must be right, too. */
static int check_files(struct cli *cli)
{
    CLEANUP(definitions) struct definitions d;
    int status = CLI_OK;

    definitions_init(&d);
    for (size_t i = 0; i < cli->args.words.count; i++) {
        const char *file = cli->args.words.items[i];
        size_t before = d.queues.count;
        struct err err = ERR_INIT;
        enum err_code code = definitions_read(&d, file, &err);
        size_t queues = d.queues.count - before;

        if (code != E_OK)
            status = CLI_USAGE;
        if (cli->json)
            print_file_json(file, queues, &err);
        else if (code != E_OK)
            (void)cli_fail(cli, &err);
        else
            printf("%s: ok, %zu queue%s\n", file, queues, queues == 1 ? "" : "s");
    }
    return status;
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
