/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/request/bulk.h"
#include "cli/view/answer.h"
#include "cli/view/queue_view.h"
#include "worker/client/url.h"

#define PATH_MAX_SIZE 1024

int cmd_queue_list(struct cli *cli)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;
    json_t *queue = NULL;

    if (cli_get(cli, "/v1/queues", &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    const json_t *queues = json_object_get(reply.json, "queues");

    if (cli->json) {
        print_json_items(buf_slice(&reply.text), "queues");
    } else if (args_has(&cli->args, "names")) {
        for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++)
            puts(answer_text(queue, "name"));
    } else {
        queue_table(queues, clock_wall_us(), &cli->screen);
    }
    return CLI_OK;
}

/* One request about one queue: METHOD /v1/queues/NAME[/ACTION]. */
static enum err_code ask(struct cli *cli, const char *method, const char *name, const char *action,
                         struct client_reply *reply, struct err *err)
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_MAX_SIZE);

    buf_add_str(&path, "/v1/queues/");
    client_add_escaped(&path, slice_of(name));
    if (action != NULL)
        buf_addf(&path, "/%s", action);
    return cli_call(cli, &(struct client_request){.method = method, .path = buf_text(&path)}, reply,
                    err);
}

typedef void print_fn(const struct cli *cli, const char *name, const struct client_reply *reply);

static int for_each(struct cli *cli, const char *method, const char *action, print_fn *print)
{
    int status = CLI_OK;

    for (size_t i = 0; i < cli->args.words.count; i++) {
        CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
        const char *name = cli->args.words.items[i];
        struct err err = ERR_INIT;
        int one = CLI_OK;

        if (ask(cli, method, name, action, &reply, &err) != E_OK)
            one = cli_fail(cli, &err);
        else if (cli->json)
            print_json(buf_slice(&reply.text));
        else
            print(cli, name, &reply);
        if (status == CLI_OK)
            status = one;
    }
    return status;
}

static void print_page(const struct cli *cli, const char *name, const struct client_reply *reply)
{
    (void)name;
    queue_page(reply->json, clock_wall_us(), &cli->screen);
}

static void print_state(const struct cli *cli, const char *name, const struct client_reply *reply)
{
    (void)cli;
    printf("%s  %s\n", name, answer_text(reply->json, "state"));
}

static void print_deleted(const struct cli *cli, const char *name, const struct client_reply *reply)
{
    (void)cli;
    (void)reply;
    printf("%s  deleted\n", name);
}

int cmd_queue_show(struct cli *cli)
{
    return for_each(cli, "GET", NULL, print_page);
}

int cmd_queue_state(struct cli *cli)
{
    return for_each(cli, "POST", cli->args.command->name, print_state);
}

int cmd_queue_rm(struct cli *cli)
{
    return for_each(cli, "DELETE", NULL, print_deleted);
}

static void print_restarted(const struct cli *cli, const char *name,
                            const struct client_reply *reply)
{
    (void)cli;
    (void)reply;
    printf("%s  restarted\n", name);
}

int cmd_queue_restart(struct cli *cli)
{
    return for_each(cli, "POST", "restart", print_restarted);
}

/* ---- what happened to a queue ---- */

static const struct column log_columns[] = {{.title = "AT"}, {.title = "WHAT"}, {.title = "TEXT"}};

/* The server has the newest first; people read downwards. */
static void print_log(const json_t *log, const struct screen *s)
{
    CLEANUP(table) struct table t;

    table_init(&t, log_columns, ARRAY_LEN(log_columns));
    for (size_t i = json_array_size(log); i-- > 0;) {
        const json_t *row = json_array_get(log, i);

        table_add(&t, COLOUR_DIM, answer_text(row, "at"));
        table_add(&t, COLOUR_PLAIN, answer_text(row, "what"));
        table_add(&t, COLOUR_PLAIN, answer_text(row, "text"));
    }
    if (t.cells.count > 0)
        table_print(&t, s);
}

int cmd_queue_log(struct cli *cli)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    char action[64];
    struct err err = ERR_INIT;

    snprintf(action, sizeof(action), "log?limit=%" PRId64, args_int(&cli->args, "limit", 100));
    if (ask(cli, "GET", args_word(&cli->args, 0), action, &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (cli->json)
        print_json_items(buf_slice(&reply.text), "log");
    else
        print_log(json_object_get(reply.json, "log"), &cli->screen);
    return CLI_OK;
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
