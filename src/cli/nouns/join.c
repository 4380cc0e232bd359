/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "cli/request/noun_request.h"
#include "cli/table/command_options.h"
#include "cli/table/noun.h"
#include "cli/view/reply_json.h"
#include "cli/view/route_view.h"
#include "core/route/dest.h"

#define BODY_MAX ((size_t)16 << 20)

static void print_arrival(const struct cli *cli, const char *name, const json_t *reply)
{
    (void)cli;
    if (reply_is_true(reply, "fired"))
        printf("%s  fired\n", name);
    else
        printf("%s  %" PRId64 " arrived\n", name, reply_int(reply, "count"));
}

static int arrive(struct cli *cli)
{
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);
    struct err err = ERR_INIT;

    if (noun_add_params(&cli->args, &body, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    return noun_send(cli, &(struct noun_request){.method = "POST", .body = buf_slice(&body)},
                     print_arrival);
}

static int clear(struct cli *cli)
{
    return noun_send(cli,
                     &(struct noun_request){.method = "DELETE",
                                            .key = args_text(&cli->args, "key"),
                                            .done = "cleared"},
                     NULL);
}

static const struct option_spec key_option[] = {
    {
        .name = "key",
        .letter = 'k',
        .value = {.type = VALUE_TEXT, .name = "K"},
        .help = "Only arrivals with this key",
    },
    {.name = NULL},
};

const struct command join_verbs[] = {
    NOUN_LIST("List all joins: arrivals needed and number of firings"),
    NOUN_SHOW(NOUN_JOIN, "Show a join and its arrivals"),
    {
        .name = "arrive",
        .help = "Add one arrival to a join, as the end of a job can",
        .examples = "waybill join arrive report -p date=2026_11_15",
        .arguments = {NOUN_NAME(NOUN_JOIN)},
        .options = {param_option, server_options},
        .run = arrive,
    },
    {
        .name = "clear",
        .help = "Discard the arrivals of a join; counting restarts at 0",
        .arguments = {NOUN_NAME(NOUN_JOIN)},
        .options = {key_option, server_options},
        .run = clear,
    },
    {.name = NULL},
};

/* ---- how they are shown ---- */

static void write_fired(const struct view_field *f, const struct view_source *from,
                        struct view_text *out)
{
    int64_t at = reply_time(from->item, "fired_at");
    char age[SHORT_TEXT_SIZE];

    view_int(f, from, out);
    if (at > 0)
        buf_addf(&out->text, ", the last time %s ago", age_format(from->now_at - at, age));
}

/* 3/10 */
static void write_arrived(const struct view_field *f, const struct view_source *from,
                          struct view_text *out)
{
    view_int(f, from, out);
    buf_addf(&out->text, "/%" PRId64, reply_int(from->parent, "count"));
}

const struct noun join_noun = {
    .name = "join",
    .plural = "joins",
    .check_name = dest_name_check,
    .columns = {{.title = "JOIN", .member = "name"},
                {.title = "KEY", .member = "key"},
                {.title = "COUNT", .member = "count", .write = view_int, .right = true},
                {.title = "KEYS OPEN",
                 .member = "keys",
                 .write = view_count,
                 .colour = COLOUR_YELLOW,
                 .right = true},
                {.title = "FIRED", .member = "fired", .write = view_count, .right = true},
                {.title = "LAST", .member = "fired_at", .write = view_ago, .right = true},
                {.title = "THEN", .member = "then", .write = view_dests}},
    .page = {{.title = "key", .member = "key"},
             {.title = "count", .member = "count", .write = view_int},
             {.title = "then", .member = "then", .write = view_dests},
             {.title = "fired", .member = "fired", .write = write_fired}},
    .part = "arrivals",
    .part_columns = {{.title = "KEY", .member = "key"},
                     {.title = "ARRIVED", .member = "count", .write = write_arrived, .right = true},
                     {.title = "FIRST", .member = "first_at", .write = view_ago, .right = true},
                     {.title = "JOBS", .member = "jobs", .write = view_words}},
};
