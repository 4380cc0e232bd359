/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "cli/request/bulk.h"
#include "cli/request/noun_request.h"
#include "cli/table/command_options.h"
#include "cli/table/noun.h"
#include "cli/view/job_view.h"
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

/* The newest entry last, as in the log. */
static void print_drops(const struct cli *cli, const char *name, const json_t *reply)
{
    static const struct column columns[] = {
        {.title = "AT"}, {.title = "FILTER"}, {.title = "JOB"}, {.title = "TEXT"}};
    CLEANUP(table) struct table t;
    const json_t *drops = json_object_get(reply, "drops");

    (void)name;
    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = json_array_size(drops); i-- > 0;) {
        const json_t *row = json_array_get(drops, i);

        table_add(&t, COLOUR_DIM, reply_text(row, "at"));
        table_add(&t, COLOUR_PLAIN, reply_text(row, "filter"));
        table_add(&t, COLOUR_PLAIN, reply_text(row, "job"));
        table_add(&t, COLOUR_PLAIN, reply_text(row, "text"));
    }
    if (t.cells.count > 0)
        table_print(&t, &cli->screen);
}

static int show_drops(struct cli *cli)
{
    return noun_send(cli, &(struct noun_request){.action = "drops", .items = "drops"}, print_drops);
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
    NOUN_ACT(NOUN_QUEUE, "pause", "Accept new jobs, but start none", set_state),
    NOUN_ACT(NOUN_QUEUE, "resume", "Accept and start jobs again (same as up)", set_state),
    NOUN_ACT(NOUN_QUEUE, "drain", "Refuse new jobs, but start those already queued", set_state),
    NOUN_ACT(NOUN_QUEUE, "down", "Refuse new jobs and start none", set_state),
    NOUN_ACT(NOUN_QUEUE, "up", "Accept and start jobs", set_state),
    NOUN_ACT(NOUN_QUEUE, "restart", "Return the running jobs to the queue and restart its programs",
             restart),
    {
        .name = "log",
        .help = "Show the history of a queue: state changes, failures, broken programs",
        .arguments = {NOUN_NAME(NOUN_QUEUE)},
        .options = {queue_log_options, server_options},
        .run = show_log,
    },
    {
        .name = "drops",
        .help = "Show the last jobs that the filters of a queue dropped, and why",
        .arguments = {NOUN_NAME(NOUN_QUEUE)},
        .options = {server_options},
        .run = show_drops,
    },
    {
        .name = "empty",
        .help = "Delete all waiting jobs of a queue: held, scheduled and ready",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {dry_run_option, server_options},
        .run = empty,
    },
    NOUN_ACT(NOUN_QUEUE, "rm", "Remove a queue that has no jobs", remove_queue),
    {.name = NULL},
};

/* ---- how they are shown ---- */

static enum err_code check_queue_name(const char *noun, struct slice name, struct err *err)
{
    (void)noun;
    return queue_name_check(name, err);
}

static void write_state(const struct view_field *f, const struct view_source *from,
                        struct view_text *out)
{
    view_string(f, from, out);
    out->colour = strcmp(buf_text(&out->text), "up") == 0 ? COLOUR_GREEN : COLOUR_YELLOW;
}

/* Jobs in the state that the member names; 0 is dim. */
static void write_count(const struct view_field *f, const struct view_source *from,
                        struct view_text *out)
{
    int64_t n = queue_count(from->item, f->member);

    buf_addf(&out->text, "%" PRId64, n);
    out->colour = n == 0 ? COLOUR_DIM : state_colour(f->member);
}

static bool has_count(const struct view_field *f, const json_t *queue)
{
    return queue_count(queue, f->member) != 0;
}

static void write_nonzero(const struct view_field *f, const struct view_source *from,
                          struct view_text *out)
{
    if (has_count(f, from->item))
        write_count(f, from, out);
}

static void write_next(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    int64_t next_at = queue_next_at(from->item);
    char age[SHORT_TEXT_SIZE];

    if (next_at > 0)
        buf_addf(&out->text, "%s, created %s ago", reply_text(from->item, f->member),
                 age_format(from->now_at - next_at, age));
}

/* "unique 3, match 1" */
static void write_dropped(const struct view_field *f, const struct view_source *from,
                          struct view_text *out)
{
    const char *filter;
    const json_t *n;

    json_object_foreach((json_t *)(uintptr_t)json_object_get(from->item, f->member), filter, n)
        buf_addf(&out->text, "%s%s %" PRId64, out->text.size > 0 ? ", " : "", filter,
                 (int64_t)json_integer_value(n));
}

static void write_why(const struct view_field *f, const struct view_source *from,
                      struct view_text *out)
{
    (void)f;
    queue_add_why(from->item, from->now_at, &out->text);
}

static void write_rate(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    double rate = json_real_value(json_object_get(from->item, f->member));

    if (rate > 0)
        buf_addf(&out->text, rate < 10 ? "%.1f" : "%.0f", rate);
}

static bool has_rate(const struct view_field *f, const json_t *queue)
{
    return json_is_real(json_object_get(queue, f->member));
}

/* The end of its page: broken programs and the definition. */
static void print_more(const json_t *queue, const struct screen *s)
{
    const json_t *definition = json_object_get(queue, "definition");

    queue_print_broken(queue, "  ", s);
    if (json_object_size(definition) == 0)
        return;
    CLEANUP(mem) char *text = json_dumps(definition, JSON_INDENT(2));

    fprintf(screen_out(s), "definition %s\n", text);
}

/* The jobs of a queue in a state.  Columns of rare states are shown when they are used. */
#define QUEUE_COLUMN(state, heading)                                               \
    {                                                                              \
        .title = (heading), .member = (state), .write = write_count, .right = true \
    }
#define QUEUE_RARE_COLUMN(state, heading)                                           \
    {                                                                               \
        .title = (heading), .member = (state), .write = write_count, .right = true, \
        .used = has_count                                                           \
    }
#define QUEUE_LINE(state)                                           \
    {                                                               \
        .title = (state), .member = (state), .write = write_nonzero \
    }

const struct noun queue_noun = {
    .name = "queue",
    .plural = "queues",
    .check_name = check_queue_name,
    .columns =
        {{.title = "QUEUE", .member = "name"},
         {.title = "STATE", .member = "state", .write = write_state},
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
          .write = write_rate,
          .right = true,
          .used = has_rate}},
    .heading = {{.title = "state", .member = "state", .write = write_state},
                {.title = "why", .member = "why", .write = write_why}},
    .page = {QUEUE_LINE("staged"),
             QUEUE_LINE("held"),
             QUEUE_LINE("scheduled"),
             QUEUE_LINE("ready"),
             QUEUE_LINE("running"),
             QUEUE_LINE("done"),
             QUEUE_LINE("failed"),
             QUEUE_LINE("cancelled"),
             QUEUE_LINE("relayed"),
             {.title = "next", .member = "next", .write = write_next},
             {.title = "dropped", .member = "dropped", .write = write_dropped},
             {.title = "keys kept", .member = "keys_kept", .write = view_nonzero},
             {.title = "restarts", .member = "restarts", .write = view_nonzero}},
    .print_more = print_more,
};
