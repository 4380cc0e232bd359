/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/clock.h"
#include "cli/request/noun_request.h"
#include "cli/table/command_options.h"
#include "cli/table/noun.h"
#include "cli/table/value.h"
#include "cli/view/reply_json.h"
#include "core/route/dest.h"
#include "worker/client/url.h"

/* ---- verbs ---- */

static void print_run(const struct cli *cli, const char *name, const json_t *reply)
{
    const char *job = reply_text(reply, "job");

    (void)cli;
    printf("%s  %s\n", name, *job == '\0' ? reply_text(reply, "why") : job);
}

static int run(struct cli *cli)
{
    return noun_send_each(cli, &(struct noun_request){.method = "POST", .action = "run"},
                          print_run);
}

static void print_paused(const struct cli *cli, const char *name, const json_t *reply)
{
    (void)cli;
    printf("%s  %s\n", name, reply_is_true(reply, "paused") ? "paused" : "on");
}

static int pause(struct cli *cli)
{
    return noun_send_each(
        cli, &(struct noun_request){.method = "POST", .action = cli->args.command->name},
        print_paused);
}

static void print_next(const struct cli *cli, const char *name, const json_t *reply)
{
    const json_t *next = json_object_get(reply, "next");

    (void)cli;
    (void)name;
    for (size_t i = 0; i < json_array_size(next); i++)
        puts(json_string_value(json_array_get(next, i)));
}

static int show_next(struct cli *cli)
{
    CLEANUP(buf) struct buf query = BUF_INIT(200);
    const char *from = args_text(&cli->args, "from");
    char text[TIME_TEXT_SIZE];
    struct err err = ERR_INIT;
    int64_t at = 0;

    buf_addf(&query, "next=%" PRId64, args_int(&cli->args, "count", 10));
    if (from != NULL) {
        if (value_time(from, clock_wall_us(), &at, &err) != E_OK)
            return cli_usage(cli, "--from: %s", err.msg);
        buf_add_str(&query, "&from=");
        client_add_escaped(&query, slice_of(time_format(at, text)));
    }
    return noun_send(cli, &(struct noun_request){.query = buf_text(&query), .items = "next"},
                     print_next);
}

static int remove_schedule(struct cli *cli)
{
    return noun_send_each(cli, &(struct noun_request){.method = "DELETE", .done = "deleted"}, NULL);
}

static const struct option_spec next_options[] = {
    {
        .name = "count",
        .letter = 'n',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 1000},
        .help = "Number of times (default 10)",
    },
    {
        .name = "from",
        .value = {.type = VALUE_TIME, .name = "T"},
        .help = "Times after this instant instead of now",
    },
    {.name = NULL},
};

const struct command schedule_verbs[] = {
    NOUN_LIST("List all schedules: when each fires next, and its totals"),
    NOUN_SHOW(NOUN_SCHEDULE, "Show a schedule, its next times and its last firings"),
    {
        .name = "next",
        .help = "Print the next times of a schedule, in UTC",
        .examples = "waybill schedule next nightly -n 3 --from 2026-03-28T00:00:00Z",
        .arguments = {NOUN_NAME(NOUN_SCHEDULE)},
        .options = {next_options, server_options},
        .run = show_next,
    },
    {
        .name = "run",
        .help = "Make the job of a schedule now, also while it is paused",
        .arguments = {NOUN_NAMES(NOUN_SCHEDULE)},
        .options = {server_options},
        .run = run,
    },
    {
        .name = "pause",
        .help = "Stop a schedule from firing",
        .arguments = {NOUN_NAMES(NOUN_SCHEDULE)},
        .options = {server_options},
        .run = pause,
    },
    {
        .name = "resume",
        .help = "Let a schedule fire again, at its next time",
        .arguments = {NOUN_NAMES(NOUN_SCHEDULE)},
        .options = {server_options},
        .run = pause,
    },
    {
        .name = "rm",
        .help = "Remove a schedule; its jobs stay",
        .arguments = {NOUN_NAMES(NOUN_SCHEDULE)},
        .options = {server_options},
        .run = remove_schedule,
    },
    {.name = NULL},
};

/* ---- how they are shown ---- */

static void write_when(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    const char *cron = reply_text(from->item, "cron");
    const char *zone = reply_text(from->item, "zone");

    (void)f;
    if (*cron == '\0')
        buf_addf(&out->text, "every %s", reply_text(from->item, "every"));
    else
        buf_add_str(&out->text, cron);
    if (*zone != '\0')
        buf_addf(&out->text, " %s", zone);
}

static void write_target(const struct view_field *f, const struct view_source *from,
                         struct view_text *out)
{
    const char *queue = reply_text(from->item, "queue");

    (void)f;
    if (*queue != '\0')
        buf_add_str(&out->text, queue);
    else
        buf_addf(&out->text, "topic:%s", reply_text(from->item, "topic"));
}

static void write_state(const struct view_field *f, const struct view_source *from,
                        struct view_text *out)
{
    (void)f;
    if (!reply_is_true(from->item, "paused"))
        return;
    buf_add_str(&out->text, "paused");
    out->colour = COLOUR_YELLOW;
}

static void write_nominal(const struct view_field *f, const struct view_source *from,
                          struct view_text *out)
{
    const char *until = reply_text(from->item, "until");

    view_string(f, from, out);
    if (*until != '\0')
        buf_addf(&out->text, " to %s (%" PRId64 ")", until, reply_int(from->item, "count"));
}

const struct noun schedule_noun = {
    .name = "schedule",
    .plural = "schedules",
    .check_name = dest_name_check,
    .columns = {{.title = "SCHEDULE", .member = "name"},
                {.title = "WHEN", .member = "cron", .write = write_when},
                {.title = "TARGET", .member = "queue", .write = write_target},
                {.title = "STATE", .member = "paused", .write = write_state},
                {.title = "NEXT", .member = "next_at"},
                {.title = "FIRED", .member = "fired", .write = view_count, .right = true},
                {.title = "SKIPPED", .member = "skipped", .write = view_count, .right = true},
                {.title = "MISSED",
                 .member = "missed",
                 .write = view_count,
                 .colour = COLOUR_YELLOW,
                 .right = true}},
    .heading = {{.title = "state", .member = "paused", .write = write_state}},
    .page = {{.title = "about", .member = "description"},
             {.title = "when", .member = "cron", .write = write_when},
             {.title = "target", .member = "queue", .write = write_target},
             {.title = "overlap", .member = "overlap"},
             {.title = "jitter", .member = "jitter"},
             {.title = "catch up", .member = "catch_up"},
             {.title = "fired", .member = "fired", .write = view_nonzero},
             {.title = "skipped", .member = "skipped", .write = view_nonzero},
             {.title = "missed", .member = "missed", .write = view_nonzero},
             {.title = "next", .member = "next", .write = view_lines}},
    .part = "firings",
    .part_columns = {{.title = "NOMINAL", .member = "nominal", .write = write_nominal},
                     {.title = "STATE", .member = "state"},
                     {.title = "AT", .member = "at", .write = view_ago, .right = true},
                     {.title = "JOB", .member = "job"},
                     {.title = "JOB STATE", .member = "job_state"},
                     {.title = "WHY", .member = "why"}},
};
