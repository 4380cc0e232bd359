/* SPDX-License-Identifier: MIT */
#include "cli/table/command_links.h"

#include <stddef.h>

#include "cli/cmd/cmd.h"
#include "cli/table/command_options.h"
#include "core/route/dest.h"

#define ONE(kind)                                    \
    {                                                \
        {.value = {.type = (kind), .name = "NAME"}}, \
    }
#define SEVERAL(kind)                                                 \
    {                                                                 \
        {.value = {.type = (kind), .name = "NAME"}, .repeats = true}, \
    }

const struct command topic_verbs[] = {
    {
        .name = "list",
        .help = "All topics, and the queues that are subscribed to them",
        .options = {names_option, server_options},
        .run = cmd_topic_list,
    },
    {
        .name = "show",
        .help = "The queues that get what is published to a topic",
        .arguments = SEVERAL(VALUE_TOPIC),
        .options = {server_options},
        .run = cmd_topic_show,
    },
    {
        .name = "publish",
        .help = "Make a job in every queue that is subscribed; prints their ids",
        .about = "The same as GET /job_start?job_name=NAME&K=V",
        .examples = "waybill topic publish import_category_dump -p date=2026_11_15",
        .arguments = ONE(VALUE_TOPIC),
        .options = {param_option, publish_options, server_options},
        .run = cmd_topic_publish,
    },
    {.name = NULL},
};

const struct command signal_verbs[] = {
    {
        .name = "list",
        .help = "All signals: how high they are, and how many jobs wait for them",
        .options = {names_option, server_options},
        .run = cmd_signal_list,
    },
    {
        .name = "show",
        .help = "A signal, and the jobs that wait for it",
        .arguments = SEVERAL(VALUE_SIGNAL),
        .options = {server_options},
        .run = cmd_signal_show,
    },
    {
        .name = "raise",
        .help = "Raise a signal, by 1 or by N",
        .about = "It holds until it is cleared, or used up by a job that takes it.",
        .examples = "waybill add report --after signal:dump:10\n"
                    "waybill signal raise dump",
        .arguments = {{.value = {.type = VALUE_SIGNAL, .name = "NAME"}},
                      {.value = {.type = VALUE_INT, .name = "N", .min = 1, .max = SIGNAL_COUNT_MAX},
                       .optional = true}},
        .options = {server_options},
        .run = cmd_signal_raise,
    },
    {
        .name = "clear",
        .help = "Bring signals down to 0",
        .arguments = SEVERAL(VALUE_SIGNAL),
        .options = {server_options},
        .run = cmd_signal_clear,
    },
    {.name = NULL},
};

const struct command join_verbs[] = {
    {
        .name = "list",
        .help = "All joins: what they wait for, and how often they have fired",
        .options = {names_option, server_options},
        .run = cmd_join_list,
    },
    {
        .name = "show",
        .help = "A join, and what has arrived there",
        .arguments = SEVERAL(VALUE_JOIN),
        .options = {server_options},
        .run = cmd_join_show,
    },
    {
        .name = "arrive",
        .help = "Count one more arrival, as a chain does that leads there",
        .examples = "waybill join arrive report -p date=2026_11_15",
        .arguments = ONE(VALUE_JOIN),
        .options = {param_option, server_options},
        .run = cmd_join_arrive,
    },
    {
        .name = "clear",
        .help = "Forget what has arrived: the next arrival is the first",
        .arguments = ONE(VALUE_JOIN),
        .options = {join_key_option, server_options},
        .run = cmd_join_clear,
    },
    {.name = NULL},
};
