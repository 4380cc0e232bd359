/* SPDX-License-Identifier: MIT */
#include "cli/table/command_links.h"

#include <stddef.h>

#include "cli/cmd/cmd.h"
#include "cli/table/command_options.h"
#include "core/route/dest.h"

const struct command topic_verbs[] = {
    NOUN_LIST("List all topics and the queues subscribed to them"),
    NOUN_SHOW(NOUN_TOPIC, "Show the queues subscribed to a topic"),
    {
        .name = "publish",
        .help = "Create a job in every subscribed queue and print the ids",
        .about = "Same as GET /job_start?job_name=NAME&K=V",
        .examples = "waybill topic publish import_category_dump -p date=2026_11_15",
        .arguments = {NOUN_NAME(NOUN_TOPIC)},
        .options = {param_option, publish_options, server_options},
        .run = cmd_topic_publish,
    },
    {.name = NULL},
};

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
        .run = cmd_signal_raise,
    },
    {
        .name = "clear",
        .help = "Reset signals to 0",
        .arguments = {NOUN_NAMES(NOUN_SIGNAL)},
        .options = {server_options},
        .run = cmd_signal_clear,
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
        .run = cmd_join_arrive,
    },
    {
        .name = "clear",
        .help = "Discard the arrivals of a join; counting restarts at 0",
        .arguments = {NOUN_NAME(NOUN_JOIN)},
        .options = {join_key_option, server_options},
        .run = cmd_join_clear,
    },
    {.name = NULL},
};
