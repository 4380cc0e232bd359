/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "cli/cmd/cmd.h"
#include "cli/request/bulk.h"
#include "cli/request/noun_request.h"
#include "cli/view/reply_json.h"

static void print_state(const struct cli *cli, const char *name, const json_t *reply)
{
    (void)cli;
    printf("%s  %s\n", name, reply_text(reply, "state"));
}

int cmd_queue_state(struct cli *cli)
{
    return noun_send_each(
        cli, &(struct noun_request){.method = "POST", .action = cli->args.command->name},
        print_state);
}

int cmd_queue_rm(struct cli *cli)
{
    return noun_send_each(cli, &(struct noun_request){.method = "DELETE", .done = "deleted"}, NULL);
}

int cmd_queue_restart(struct cli *cli)
{
    return noun_send_each(
        cli, &(struct noun_request){.method = "POST", .action = "restart", .done = "restarted"},
        NULL);
}

/* The server sends the newest entry first; people read downwards. */
static void print_log(const struct cli *cli, const char *name, const json_t *reply)
{
    static const struct column columns[] = {{.title = "AT"}, {.title = "WHAT"}, {.title = "TEXT"}};
    CLEANUP(table) struct table t;
    const json_t *log = json_object_get(reply, "log");

    (void)name;
    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = json_array_size(log); i-- > 0;) {
        const json_t *row = json_array_get(log, i);

        table_add(&t, COLOUR_DIM, reply_text(row, "at"));
        table_add(&t, COLOUR_PLAIN, reply_text(row, "what"));
        table_add(&t, COLOUR_PLAIN, reply_text(row, "text"));
    }
    if (t.cells.count > 0)
        table_print(&t, &cli->screen);
}

int cmd_queue_log(struct cli *cli)
{
    char action[64];

    snprintf(action, sizeof(action), "log?limit=%" PRId64, args_int(&cli->args, "limit", 100));
    return noun_send(cli, &(struct noun_request){.action = action, .items = "log"}, print_log);
}

int cmd_queue_empty(struct cli *cli)
{
    int status = CLI_OK;

    for (size_t i = 0; i < cli->args.words.count; i++) {
        int one = bulk_act(cli, &(struct bulk_request){.action = "delete",
                                                       .done = "deleted",
                                                       .states = "held,scheduled,ready",
                                                       .queue = cli->args.words.items[i]});

        if (status == CLI_OK)
            status = one;
    }
    return status;
}
