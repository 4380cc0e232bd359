/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "cli/request/bulk.h"
#include "cli/request/noun_request.h"
#include "cli/table/command_options.h"
#include "cli/table/noun.h"
#include "cli/view/queue_view.h"
#include "cli/view/reply_json.h"
#include "core/queue/def.h"

static void print_state(const struct cli *cli, const char *name, const json_t *reply)
{
    (void)cli;
    printf("%s  %s\n", name, reply_text(reply, "state"));
}

static int set_state(struct cli *cli)
{
    return noun_send_each(
        cli, &(struct noun_request){.method = "POST", .action = cli->args.command->name},
        print_state);
}

static int remove_queue(struct cli *cli)
{
    return noun_send_each(cli, &(struct noun_request){.method = "DELETE", .done = "deleted"}, NULL);
}

static int restart(struct cli *cli)
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

static int show_log(struct cli *cli)
{
    char action[64];

    snprintf(action, sizeof(action), "log?limit=%" PRId64, args_int(&cli->args, "limit", 100));
    return noun_send(cli, &(struct noun_request){.action = action, .items = "log"}, print_log);
}

static int empty(struct cli *cli)
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

static const struct option_spec queue_log_options[] = {
    {
        .name = "limit",
        .letter = 'n',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 1000},
        .help = "Maximum number of entries, the newest (default 100)",
    },
    {.name = NULL},
};

const struct command queue_verbs[] = {
    NOUN_LIST("List all queues with their states and counts"),
    NOUN_SHOW(NOUN_QUEUE, "Show a queue: state, counts, definition"),
    {
        .name = "pause",
        .help = "Accept new jobs, but start none",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = set_state,
    },
    {
        .name = "resume",
        .help = "Accept and start jobs again (same as up)",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = set_state,
    },
    {
        .name = "drain",
        .help = "Refuse new jobs, but start those already queued",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = set_state,
    },
    {
        .name = "down",
        .help = "Refuse new jobs and start none",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = set_state,
    },
    {
        .name = "up",
        .help = "Accept and start jobs",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = set_state,
    },
    {
        .name = "restart",
        .help = "Return the running jobs to the queue and restart its programs",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = restart,
    },
    {
        .name = "log",
        .help = "Show the history of a queue: state changes, failures, broken programs",
        .arguments = {NOUN_NAME(NOUN_QUEUE)},
        .options = {queue_log_options, server_options},
        .run = show_log,
    },
    {
        .name = "empty",
        .help = "Delete all waiting jobs of a queue: held, scheduled and ready",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {dry_run_option, server_options},
        .run = empty,
    },
    {
        .name = "rm",
        .help = "Remove a queue that has no jobs",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = remove_queue,
    },
    {.name = NULL},
};

/* ---- how they are shown ---- */

static enum err_code check_queue_name(const char *noun, struct slice name, struct err *err)
{
    (void)noun;
    return queue_name_check(name, err);
}

/* The jobs of a queue in a state.  Columns of rare states are shown when they are used. */
#define QUEUE_COLUMN(state, heading)                                                     \
    {                                                                                    \
        .title = (heading), .member = (state), .write = queue_write_count, .right = true \
    }
#define QUEUE_RARE_COLUMN(state, heading)                                                 \
    {                                                                                     \
        .title = (heading), .member = (state), .write = queue_write_count, .right = true, \
        .used = queue_has_count                                                           \
    }
#define QUEUE_LINE(state)                                                 \
    {                                                                     \
        .title = (state), .member = (state), .write = queue_write_nonzero \
    }

const struct noun queue_noun = {
    .name = "queue",
    .plural = "queues",
    .check_name = check_queue_name,
    .columns =
        {{.title = "QUEUE", .member = "name"},
         {.title = "STATE", .member = "state", .write = queue_write_state},
         QUEUE_RARE_COLUMN("staged", "STAGED"),
         QUEUE_RARE_COLUMN("held", "HELD"),
         QUEUE_RARE_COLUMN("scheduled", "SCHEDULED"),
         QUEUE_COLUMN("ready", "READY"),
         QUEUE_COLUMN("running", "RUNNING"),
         QUEUE_COLUMN("done", "DONE"),
         QUEUE_COLUMN("failed", "FAILED"),
         QUEUE_RARE_COLUMN("cancelled", "CANCELLED"),
         QUEUE_RARE_COLUMN("relayed", "RELAYED"),
         {.title = "NEXT AGE", .member = "next_created_at", .write = view_age, .right = true},
         {.title = "ENDED/S",
          .member = QUEUE_RATE,
          .write = queue_write_rate,
          .right = true,
          .used = queue_has_rate}},
    .heading = {{.title = "state", .member = "state", .write = queue_write_state},
                {.title = "why", .member = "why", .write = queue_write_why}},
    .page = {QUEUE_LINE("staged"),
             QUEUE_LINE("held"),
             QUEUE_LINE("scheduled"),
             QUEUE_LINE("ready"),
             QUEUE_LINE("running"),
             QUEUE_LINE("done"),
             QUEUE_LINE("failed"),
             QUEUE_LINE("cancelled"),
             QUEUE_LINE("relayed"),
             {.title = "next", .member = "next", .write = queue_write_next},
             {.title = "restarts", .member = "restarts", .write = view_nonzero}},
    .print_more = queue_print_more,
};
