/* SPDX-License-Identifier: MIT */
#include "cli/table/noun_verbs.h"

#include <stddef.h>

#include "cli/cmd/cmd.h"
#include "cli/table/command_options.h"
#include "core/route/dest.h"

/* One name, or several, of a noun. */
#define NOUN_NAME(id)                                                \
    {                                                                \
        .value = {.type = VALUE_NOUN, .noun = (id), .name = "NAME" } \
    }
#define NOUN_NAMES(id)                                                               \
    {                                                                                \
        .value = {.type = VALUE_NOUN, .noun = (id), .name = "NAME"}, .repeats = true \
    }

/* The verbs that every noun has. */
#define NOUN_LIST(text)                                                            \
    {                                                                              \
        .name = "list", .help = (text), .options = {names_option, server_options}, \
        .run = cmd_noun_list,                                                      \
    }
#define NOUN_SHOW(id, text)                                            \
    {                                                                  \
        .name = "show", .help = (text), .arguments = {NOUN_NAMES(id)}, \
        .options = {server_options}, .run = cmd_noun_show,             \
    }

const struct command queue_verbs[] = {
    NOUN_LIST("List all queues with their states and counts"),
    NOUN_SHOW(NOUN_QUEUE, "Show a queue: state, counts, definition"),
    {
        .name = "pause",
        .help = "Accept new jobs, but start none",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = cmd_queue_state,
    },
    {
        .name = "resume",
        .help = "Accept and start jobs again (same as up)",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = cmd_queue_state,
    },
    {
        .name = "drain",
        .help = "Refuse new jobs, but start those already queued",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = cmd_queue_state,
    },
    {
        .name = "down",
        .help = "Refuse new jobs and start none",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = cmd_queue_state,
    },
    {
        .name = "up",
        .help = "Accept and start jobs",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = cmd_queue_state,
    },
    {
        .name = "restart",
        .help = "Return the running jobs to the queue and restart its programs",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = cmd_queue_restart,
    },
    {
        .name = "log",
        .help = "Show the history of a queue: state changes, failures, broken programs",
        .arguments = {NOUN_NAME(NOUN_QUEUE)},
        .options = {queue_log_options, server_options},
        .run = cmd_queue_log,
    },
    {
        .name = "empty",
        .help = "Delete all waiting jobs of a queue: held, scheduled and ready",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {dry_run_option, server_options},
        .run = cmd_queue_empty,
    },
    {
        .name = "rm",
        .help = "Remove a queue that has no jobs",
        .arguments = {NOUN_NAMES(NOUN_QUEUE)},
        .options = {server_options},
        .run = cmd_queue_rm,
    },
    {.name = NULL},
};

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

const struct command workers_verbs[] = {
    NOUN_LIST("List all workers and what they are running"),
    {
        .name = "show",
        .help = "Show a worker: queues, running jobs, broken programs",
        .arguments = {NOUN_NAMES(NOUN_WORKER)},
        .options = {server_options},
        .run = cmd_worker_show,
    },
    {.name = NULL},
};
