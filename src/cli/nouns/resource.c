/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "cli/request/noun_request.h"
#include "cli/table/command_options.h"
#include "cli/table/noun.h"
#include "cli/table/value.h"
#include "cli/view/reply_json.h"
#include "core/route/dest.h"

#define BODY_MAX ((size_t)8192)

static void print_shut(const struct cli *cli, const char *name, const json_t *reply)
{
    (void)cli;
    if (!reply_is_true(reply, "shut"))
        printf("%s  not shut\n", name);
    else if (*reply_text(reply, "until") == '\0')
        printf("%s  shut until it is opened\n", name);
    else
        printf("%s  shut until %s\n", name, reply_text(reply, "until"));
}

static int shut(struct cli *cli)
{
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);
    const char *length = args_text(&cli->args, "for");
    const char *why = args_text(&cli->args, "why");

    buf_add_char(&body, '{');
    if (length != NULL)
        jtext_put_string(&body, "for", slice_of(length));
    if (why != NULL)
        jtext_put_string(&body, "why", slice_of(why));
    buf_add_char(&body, '}');
    return noun_send_each(
        cli, &(struct noun_request){.method = "POST", .action = "shut", .body = buf_slice(&body)},
        print_shut);
}

static int open_again(struct cli *cli)
{
    return noun_send_each(cli, &(struct noun_request){.method = "POST", .action = "open"},
                          print_shut);
}

static void print_page(const struct cli *cli, const char *name, const json_t *item)
{
    (void)name;
    noun_print_page(NOUN_RESOURCE, item, clock_wall_us(), &cli->screen);
}

static int show(struct cli *cli)
{
    const char *given = args_text(&cli->args, "at");
    char at[TIME_TEXT_SIZE];
    struct err err = ERR_INIT;
    int64_t at_us = 0;

    if (given != NULL && value_time(given, clock_wall_us(), &at_us, &err) != E_OK)
        return cli_usage(cli, "--at: %s", err.msg);
    return noun_send_each(
        cli, &(struct noun_request){.at = given == NULL ? NULL : time_format(at_us, at)},
        print_page);
}

static const struct option_spec shut_options[] = {
    {
        .name = "for",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "How long (default: until it is opened)",
    },
    {
        .name = "why",
        .value = {.type = VALUE_TEXT, .name = "TEXT"},
        .help = "Shown as the reason of jobs that wait for it",
    },
    {.name = NULL},
};

static const struct option_spec at_option[] = {
    {
        .name = "at",
        .value = {.type = VALUE_TIME, .name = "T"},
        .help = "As it will be at this instant",
    },
    {.name = NULL},
};

const struct command resource_verbs[] = {
    NOUN_LIST("List all resources: slots in use, whether they are open"),
    {
        .name = "show",
        .help = "Show a resource and the jobs that use it",
        .arguments = {NOUN_NAMES(NOUN_RESOURCE)},
        .options = {at_option, server_options},
        .run = show,
    },
    {
        .name = "shut",
        .help = "Shut resources: no job that needs one starts",
        .about = "What runs already continues.",
        .examples = "waybill resource shut search-api --for 30m --why 'quota used up'",
        .arguments = {NOUN_NAMES(NOUN_RESOURCE)},
        .options = {shut_options, server_options},
        .run = shut,
    },
    {
        .name = "open",
        .help = "Open resources that were shut; opening hours still hold",
        .arguments = {NOUN_NAMES(NOUN_RESOURCE)},
        .options = {server_options},
        .run = open_again,
    },
    {.name = NULL},
};

/* ---- how they are shown ---- */

static void write_used(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    json_int_t slots = json_integer_value(json_object_get(from->item, "slots"));

    (void)f;
    buf_addf(&out->text, "%lld", (long long)reply_int(from->item, "in_use"));
    if (slots > 0)
        buf_addf(&out->text, "/%lld", (long long)slots);
}

static void write_open(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    (void)f;
    buf_add_str(&out->text, reply_is_true(from->item, "open") ? "open" : "closed");
    if (!reply_is_true(from->item, "open"))
        out->colour = COLOUR_YELLOW;
}

const struct noun resource_noun = {
    .name = "resource",
    .plural = "resources",
    .check_name = dest_name_check,
    .columns = {{.title = "RESOURCE", .member = "name"},
                {.title = "IN USE", .member = "in_use", .write = write_used, .right = true},
                {.title = "RATE", .member = "rate", .write = view_names},
                {.title = "STATE", .member = "open", .write = write_open},
                {.title = "UNTIL", .member = "until"},
                {.title = "WHY", .member = "why"}},
    .heading = {{.title = "state", .member = "open", .write = write_open}},
    .page = {{.title = "in use", .member = "in_use", .write = write_used},
             {.title = "rate", .member = "rate", .write = view_names},
             {.title = "until", .member = "until"},
             {.title = "waiting", .member = "waiting", .write = view_int},
             {.title = "why", .member = "why"}},
    .part = "holders",
    .part_columns = {{.title = "JOB", .member = "job"},
                     {.title = "WEIGHT", .member = "weight", .write = view_int, .right = true},
                     {.title = "SINCE", .member = "since", .write = view_ago, .right = true}},
};
