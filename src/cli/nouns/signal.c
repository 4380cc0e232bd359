/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "cli/request/noun_request.h"
#include "cli/table/command_options.h"
#include "cli/table/noun.h"
#include "cli/view/reply_json.h"
#include "cli/view/route_view.h"
#include "core/route/dest.h"

static void print_level(const struct cli *cli, const char *name, const json_t *signal)
{
    (void)cli;
    printf("%s  %" PRId64 "\n", name, reply_int(signal, "count"));
}

static int raise_signal(struct cli *cli)
{
    CLEANUP(buf) struct buf body = BUF_INIT(100);
    const char *count = args_word(&cli->args, 1);

    buf_addf(&body, "{\"count\":%lld}", count != NULL ? strtoll(count, NULL, 10) : 1);
    return noun_send(cli, &(struct noun_request){.method = "POST", .body = buf_slice(&body)},
                     print_level);
}

static int clear(struct cli *cli)
{
    return noun_send_each(cli, &(struct noun_request){.method = "DELETE"}, print_level);
}

const struct command signal_verbs[] = {
    NOUN_LIST("List all signals: level and number of waiting jobs"),
    NOUN_SHOW(NOUN_SIGNAL, "Show a signal and the jobs that wait for it"),
    {
        .name = "raise",
        .help = "Raise a signal by N (default 1)",
        .about = "The level stays until the signal is cleared or a job takes from it.",
        .examples = "waybill add report --after signal:dump:10\n"
                    "waybill signal raise dump",
        .arguments = {NOUN_NAME(NOUN_SIGNAL),
                      {.value = {.type = VALUE_INT, .name = "N", .min = 1, .max = SIGNAL_COUNT_MAX},
                       .optional = true}},
        .options = {server_options},
        .run = raise_signal,
    },
    NOUN_ACT(NOUN_SIGNAL, "clear", "Reset signals to 0", clear),
    {.name = NULL},
};

/* ---- how they are shown ---- */

static void write_take(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    if (reply_is_true(from->item, f->member))
        buf_add_str(&out->text, "takes it");
}

const struct noun signal_noun = {
    .name = "signal",
    .plural = "signals",
    .check_name = dest_name_check,
    .columns = {{.title = "SIGNAL", .member = "name"},
                {.title = "COUNT", .member = "count", .write = view_count, .right = true},
                {.title = "WAITING",
                 .member = "waiters",
                 .write = view_count,
                 .colour = COLOUR_YELLOW,
                 .right = true},
                {.title = "CHANGED", .member = "changed_at", .write = view_ago, .right = true}},
    .heading = {{.title = "count", .member = "count", .write = view_int}},
    .page = {{.title = "changed", .member = "changed_at", .write = view_ago},
             {.title = "waiting", .member = "waiters", .write = view_int}},
    .part = "waiting",
    .part_columns = {{.title = "JOB", .member = "id"},
                     {.title = "NEEDS", .member = "count", .write = view_int, .right = true},
                     {.title = "", .member = "take", .write = write_take, .colour = COLOUR_DIM}},
};
