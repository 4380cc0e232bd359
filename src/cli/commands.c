/* SPDX-License-Identifier: MIT */
#include "cli/command.h"

#include <limits.h>
#include <stddef.h>

#include "cli/cmd.h"
#include "core/job.h"
#include "core/retry.h"

static const char *const shells[] = {"bash", "zsh", "fish", NULL};
static const char *const log_levels[] = {"error", "warn", "info", "debug", NULL};

const struct option_spec command_common[] = {
    {.name = "json", .help = "JSON instead of text for people; lists as one JSON document a line"},
    {.name = "help", .letter = 'h', .help = "Explain this verb"},
    {.name = NULL},
};

/* Which server. */
static const struct option_spec server_options[] = {
    {
        .name = "url",
        .value = {.type = VALUE_TEXT, .name = "URL"},
        .help = "The server: http://…, https://… or unix:PATH (default: see 'waybill help')",
    },
    {
        .name = "data",
        .value = {.type = VALUE_DIR, .name = "DIR"},
        .help = "The server of this data directory, and no other",
    },
    {.name = NULL},
};

/* Which jobs. */
static const struct option_spec filter_options[] = {
    {
        .name = "queue",
        .letter = 'q',
        .value = {.type = VALUE_QUEUE, .name = "QUEUE"},
        .help = "Jobs of this queue",
    },
    {
        .name = "state",
        .letter = 's',
        .value = {.type = VALUE_STATES, .name = "STATE,…"},
        .help = "Jobs in these states: staged held scheduled ready running done failed cancelled "
                "relayed",
    },
    {
        .name = "label",
        .letter = 'l',
        .repeats = true,
        .value = {.type = VALUE_PAIR, .name = "K=V"},
        .help = "Jobs with this label",
    },
    {
        .name = "text",
        .letter = 't',
        .value = {.type = VALUE_TEXT, .name = "TEXT"},
        .help = "Jobs with this text in their params, key, labels or status",
    },
    {.name = NULL},
};

static const struct option_spec older_option[] = {
    {
        .name = "older",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Jobs that ended longer ago than that",
    },
    {.name = NULL},
};

static const struct option_spec param_option[] = {
    {
        .name = "param",
        .letter = 'p',
        .repeats = true,
        .value = {.type = VALUE_PARAM, .name = "K=V|K:=JSON"},
        .help = "A parameter: text after =, JSON after :=",
    },
    {.name = NULL},
};

static const struct option_spec job_options[] = {
    {
        .name = "body",
        .letter = 'b',
        .value = {.type = VALUE_TEXT, .name = "X|@FILE|-"},
        .help = "The body: this text, a file's content, or standard input",
    },
    {
        .name = "delay",
        .letter = 'd',
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Not before so long from now",
    },
    {
        .name = "at",
        .value = {.type = VALUE_TIME, .name = "T"},
        .help = "Not before this time: 22:00, '2026-12-24 22:00', or 2026-12-24T22:00:00Z",
    },
    {
        .name = "priority",
        .value = {.type = VALUE_INT, .name = "N", .min = JOB_PRIORITY_MIN, .max = JOB_PRIORITY_MAX},
        .help = "Higher goes first, -1000 to 1000 (default 0)",
    },
    {
        .name = "key",
        .letter = 'k',
        .value = {.type = VALUE_TEXT, .name = "K"},
        .help = "The same key again is the same job: nothing is added twice",
    },
    {
        .name = "label",
        .letter = 'l',
        .repeats = true,
        .value = {.type = VALUE_PAIR, .name = "K=V"},
        .help = "A label, to find the job by",
    },
    {
        .name = "retry",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = RETRY_MAX_LIMIT},
        .help = "So many retries after a failure (default: what the queue says)",
    },
    {
        .name = "timeout",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "An attempt may take so long (default: what the queue says)",
    },
    {.name = NULL},
};

static const struct option_spec add_options[] = {
    {
        .name = "lines",
        .value = {.type = VALUE_FILE, .name = "FILE|-"},
        .help = "Add many: one job as JSON a line; what a line does not say comes from here",
    },
    {.name = "dry-run", .letter = 'n', .help = "Only show what would be sent"},
    {
        .name = "wait",
        .letter = 'w',
        .help = "Wait until the job has ended, with its log, and exit as its program did",
    },
    {.name = NULL},
};

static const struct option_spec list_options[] = {
    {
        .name = "limit",
        .letter = 'n',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = INT_MAX},
        .help = "At most so many, the newest (default 50)",
    },
    {.name = "all", .letter = 'a', .help = "All of them"},
    {.name = "ids", .help = "Only the ids, one a line"},
    {.name = NULL},
};

static const struct option_spec log_options[] = {
    {.name = "follow", .letter = 'f', .help = "Go on as it grows, until the job has ended"},
    {
        .name = "tail",
        .letter = 'n',
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = 1000000},
        .help = "Only the last N lines",
    },
    {.name = "times", .help = "Each line with the time at which it came"},
    {.name = NULL},
};

static const struct option_spec queue_log_options[] = {
    {
        .name = "limit",
        .letter = 'n',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 1000},
        .help = "The last N entries (default 100)",
    },
    {.name = NULL},
};

static const struct option_spec wait_options[] = {
    {
        .name = "timeout",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Give up after so long, with exit status 75",
    },
    {.name = NULL},
};

static const struct option_spec retry_options[] = {
    {
        .name = "set",
        .repeats = true,
        .value = {.type = VALUE_PARAM, .name = "K=V|K:=JSON"},
        .help = "Run it with this parameter changed",
    },
    {.name = NULL},
};

static const struct option_spec move_options[] = {
    {
        .name = "to",
        .value = {.type = VALUE_QUEUE, .name = "QUEUE"},
        .help = "The queue to move to",
    },
    {.name = NULL},
};

static const struct option_spec queue_list_options[] = {
    {.name = "names", .help = "Only the names, one a line"},
    {.name = NULL},
};

static const struct option_spec apply_options[] = {
    {.name = "prune", .help = "Also remove queues that are not in the files"},
    {.name = "dry-run", .letter = 'n', .help = "Only show what would change"},
    {.name = NULL},
};

static const struct option_spec serve_options[] = {
    {
        .name = "config",
        .letter = 'c',
        .repeats = true,
        .value = {.type = VALUE_FILE, .name = "FILE|DIR"},
        .help = "Definitions to apply at start and on HUP: a file, or a directory of them",
    },
    {
        .name = "data",
        .value = {.type = VALUE_DIR, .name = "DIR"},
        .help = "Where everything is kept (default: see 'waybill help')",
    },
    {
        .name = "listen",
        .value = {.type = VALUE_TEXT, .name = "ADDR:PORT|none"},
        .help = "Where to listen besides the Unix socket (default 127.0.0.1:6769; port 0: any free "
                "one; none: nowhere)",
    },
    {
        .name = "store",
        .value = {.type = VALUE_TEXT, .name = "URL"},
        .help = "Another store than the one in the data directory",
    },
    {
        .name = "jobs",
        .letter = 'j',
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = 100000},
        .help = "Programs that the local worker runs at once (default: one a core; 0: no worker)",
    },
    {
        .name = "token-file",
        .value = {.type = VALUE_FILE, .name = "FILE"},
        .help = "The token that gives administrators their rights over TCP",
    },
    {.name = NULL},
};

static const struct option_spec log_level_option[] = {
    {
        .name = "log-level",
        .value = {.type = VALUE_CHOICE, .name = "error|warn|info|debug", .choices = log_levels},
        .help = "What to write to standard error (default info)",
    },
    {.name = NULL},
};

static const struct option_spec worker_options[] = {
    {
        .name = "server",
        .value = {.type = VALUE_TEXT, .name = "URL"},
        .help = "The server: http://…, https://… or unix:PATH (default: see 'waybill help')",
    },
    {
        .name = "name",
        .value = {.type = VALUE_TEXT, .name = "NAME"},
        .help = "Its lasting identity (default: the host's name)",
    },
    {
        .name = "queue",
        .letter = 'q',
        .repeats = true,
        .value = {.type = VALUE_QUEUE, .name = "QUEUE"},
        .help = "Serve this queue (default: all that have a command)",
    },
    {
        .name = "jobs",
        .letter = 'j',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 100000},
        .help = "Programs at once (default: one a core)",
    },
    {
        .name = "config",
        .letter = 'c',
        .repeats = true,
        .value = {.type = VALUE_FILE, .name = "FILE|DIR"},
        .help = "Its own definitions: for the queues in them these count, not the server's",
    },
    {.name = "own-only",
     .help = "Run the commands of its own definitions only, never the server's"},
    {
        .name = "grace",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "After TERM, let running jobs end for so long, then hand them back (default 60s)",
    },
    {
        .name = "lease",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help =
            "So long after its last word the server takes its jobs back, 1s to 24h (default 60s)",
    },
    {
        .name = "data",
        .value = {.type = VALUE_DIR, .name = "DIR"},
        .help = "Where it keeps its state, in workers/NAME (default: see 'waybill help')",
    },
    {
        .name = "parent-fd",
        .value = {.type = VALUE_INT, .name = "FD", .min = 3, .max = 1023},
        .help = "End at once when this descriptor ends: how serve keeps its own worker",
    },
    {.name = NULL},
};

static const struct option_spec progress_options[] = {
    {
        .name = "left",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "It will be done in about so long",
    },
    {.name = NULL},
};

static const struct option_spec emit_options[] = {
    {
        .name = "now",
        .letter = '!',
        .help = "At once, whatever becomes of this job; prints the new job's id",
    },
    {.name = NULL},
};

static const struct option_spec each_options[] = {
    {
        .name = "jobs",
        .letter = 'j',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 4096},
        .help = "Programs at once (default: one a core)",
    },
    {
        .name = "rate",
        .value = {.type = VALUE_TEXT, .name = "N/D"},
        .help = "At most N starts in the time D, evenly spaced: 10/1m, 5/s",
    },
    {
        .name = "retry",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = RETRY_MAX_LIMIT},
        .help = "So many retries of a line after a failure, after 1s, 2s, 4s … (default 0)",
    },
    {
        .name = "timeout",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "An attempt may take so long: TERM, 10 s later KILL",
    },
    {.name = "keep-order", .letter = 'k', .help = "Print outputs in the order of the lines"},
    {
        .name = "colsep",
        .value = {.type = VALUE_TEXT, .name = "S"},
        .help = "What stands between columns, \\t for a tab: {1} {2} … are the columns",
    },
    {.name = "null", .letter = '0', .help = "Input has NULs instead of line ends"},
    {.name = "dry-run", .letter = 'n', .help = "Only print the commands"},
    {.name = "failed", .help = "Run the lines again that failed; reads no input"},
    {.name = "show", .help = "Print what the failed lines have printed; runs nothing"},
    {.name = "again", .help = "Begin anew, whatever there was of this run"},
    {.name = NULL},
};

static const struct option_spec check_options[] = {
    {
        .name = "warn-failed",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "WARNING from so many failed jobs on",
    },
    {
        .name = "crit-failed",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "CRITICAL from so many failed jobs on",
    },
    {
        .name = "warn-ready",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "WARNING from so many ready jobs on",
    },
    {
        .name = "crit-ready",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "CRITICAL from so many ready jobs on",
    },
    {
        .name = "max-age",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "CRITICAL when a job has been ready for longer than that",
    },
    {.name = "store", .help = "Check the store: quickly, or with --full thoroughly"},
    {.name = "full", .help = "With --store: every page, every count, every rule between tables"},
    {.name = NULL},
};

static const struct option_spec bench_options[] = {
    {
        .name = "url",
        .value = {.type = VALUE_TEXT, .name = "URL"},
        .help = "Load this server, on this machine (default: start one of its own beside it)",
    },
    {
        .name = "dir",
        .value = {.type = VALUE_DIR, .name = "DIR"},
        .help = "Where the server of its own keeps its data for the time of the run (default: the "
                "current directory)",
    },
    {
        .name = "batch",
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 1000},
        .help = "Jobs in one request (default 100)",
    },
    {
        .name = "connections",
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 1000},
        .help = "Connections for submits one by one (default 50); an eighth of them for batches",
    },
    {
        .name = "seconds",
        .value = {.type = VALUE_INT, .name = "S", .min = 1, .max = 3600},
        .help = "How long each part runs (default 5)",
    },
    {.name = NULL},
};

static const struct option_spec help_options[] = {
    {.name = "markdown", .help = "All of it, as docs/cli.md has it"},
    {.name = NULL},
};

#define JOBS                                                           \
    {                                                                  \
        {.value = {.type = VALUE_JOB, .name = "ID"}, .repeats = true}, \
    }
#define JOBS_OR_FILTER                                                                   \
    {                                                                                    \
        {.value = {.type = VALUE_JOB, .name = "ID"}, .optional = true, .repeats = true}, \
    }
#define TEXTS(title)                                                                         \
    {                                                                                        \
        {.value = {.type = VALUE_TEXT, .name = (title)}, .optional = true, .repeats = true}, \
    }
#define QUEUES                                                             \
    {                                                                      \
        {.value = {.type = VALUE_QUEUE, .name = "NAME"}, .repeats = true}, \
    }

static const struct command queue_verbs[] = {
    {
        .name = "list",
        .help = "All queues with their state and counts",
        .options = {queue_list_options, server_options},
        .run = cmd_queue_list,
    },
    {
        .name = "show",
        .help = "One queue: state, counts, definition",
        .arguments = QUEUES,
        .options = {server_options},
        .run = cmd_queue_show,
    },
    {
        .name = "pause",
        .help = "Take jobs, start none",
        .arguments = QUEUES,
        .options = {server_options},
        .run = cmd_queue_state,
    },
    {
        .name = "resume",
        .help = "Take and start jobs again: the same as up",
        .arguments = QUEUES,
        .options = {server_options},
        .run = cmd_queue_state,
    },
    {
        .name = "drain",
        .help = "Refuse new jobs, start those that are there",
        .arguments = QUEUES,
        .options = {server_options},
        .run = cmd_queue_state,
    },
    {
        .name = "down",
        .help = "Refuse new jobs, start none",
        .arguments = QUEUES,
        .options = {server_options},
        .run = cmd_queue_state,
    },
    {
        .name = "up",
        .help = "Take and start jobs",
        .arguments = QUEUES,
        .options = {server_options},
        .run = cmd_queue_state,
    },
    {
        .name = "restart",
        .help = "Hand its running jobs back and start its programs anew",
        .arguments = QUEUES,
        .options = {server_options},
        .run = cmd_queue_restart,
    },
    {
        .name = "log",
        .help = "What happened to a queue: states, failures, broken programs",
        .arguments = {{.value = {.type = VALUE_QUEUE, .name = "NAME"}}},
        .options = {queue_log_options, server_options},
        .run = cmd_queue_log,
    },
    {
        .name = "empty",
        .help = "Delete all its jobs that wait: held, scheduled and ready ones",
        .arguments = QUEUES,
        .options = {server_options},
        .run = cmd_queue_empty,
    },
    {
        .name = "rm",
        .help = "Remove a queue that has no jobs",
        .arguments = QUEUES,
        .options = {server_options},
        .run = cmd_queue_rm,
    },
    {.name = NULL},
};

static const struct command workers_verbs[] = {
    {
        .name = "list",
        .help = "All workers, and what they do",
        .options = {server_options},
        .run = cmd_workers_list,
    },
    {
        .name = "show",
        .help = "All about a worker: queues, running jobs, broken programs",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "NAME"}, .repeats = true}},
        .options = {server_options},
        .run = cmd_workers_show,
    },
    {.name = NULL},
};

const struct command commands[] = {
    {
        .name = "add",
        .group = GROUP_JOBS,
        .help = "Submit a job; prints its id",
        .about =
            "With -- CMD the job brings its own program: the queue must allow it\n"
            "(own_command, as `default` does), and the server must be reached over its Unix\n"
            "socket or with its token.\n"
            "With --wait the exit status is the program's: 128+N for signal N, 1 if it has none.",
        .examples = "waybill add fetch -p url=https://example.org/ -p depth:=3\n"
                    "waybill add mail --body @letter.txt --at 22:00 --key letter-417\n"
                    "waybill add default --wait -- make -C /srv/site\n"
                    "waybill add fetch --lines jobs.ndjson",
        .arguments = {{.value = {.type = VALUE_QUEUE, .name = "QUEUE"}}},
        .options = {param_option, job_options, add_options, server_options},
        .takes_program = true,
        .run = cmd_add,
    },
    {
        .name = "each",
        .group = GROUP_JOBS,
        .help = "Run a program for each line of input: a durable xargs",
        .about =
            "{} is the line, {1} {2} … its columns with --colsep; without any the line comes last.\n"
            "Each is one argument, whatever is in it; no shell sees it.  Prints what each program\n"
            "has printed when it has ended.\n"
            "A run is known by directory, command and --colsep: interrupted or killed, the same\n"
            "command with the same input goes on where it was; finished, it begins anew.\n"
            "Needs no server.  Exit status 1 when a line has failed.",
        .examples = "waybill each -j 8 --retry 3 -- curl -sSfO {} < urls.txt\n"
                    "find . -name '*.wav' -print0 | waybill each -0 -- flac {}\n"
                    "waybill each --colsep '\\t' -- convert {1} -resize {2} {1}.jpg < list.tsv\n"
                    "waybill each --failed -j 8 --retry 3 -- curl -sSfO {}",
        .options = {each_options},
        .takes_program = true,
        .run = cmd_each,
    },
    {
        .name = "list",
        .group = GROUP_JOBS,
        .help = "Jobs, the newest first",
        .examples = "waybill list --queue fetch --state failed\n"
                    "waybill list --label site=example.org --all --ids",
        .options = {filter_options, list_options, server_options},
        .run = cmd_list,
    },
    {
        .name = "show",
        .group = GROUP_JOBS,
        .help = "All about a job",
        .arguments = JOBS,
        .options = {server_options},
        .run = cmd_show,
    },
    {
        .name = "log",
        .group = GROUP_JOBS,
        .help = "What a job has printed",
        .about = "With --follow it goes on until the job has ended, and exits as its program did.",
        .arguments = {{.value = {.type = VALUE_JOB, .name = "ID"}}},
        .options = {log_options, server_options},
        .run = cmd_log,
    },
    {
        .name = "wait",
        .group = GROUP_JOBS,
        .help = "Wait until jobs have ended",
        .about = "Exits as the job's program did: 128+N for signal N, 1 if it never ran or has no\n"
                 "exit status.  With several jobs: 0 when all are done, else 1.",
        .arguments = JOBS,
        .options = {wait_options, server_options},
        .run = cmd_wait,
    },
    {
        .name = "cancel",
        .group = GROUP_JOBS,
        .help = "Cancel jobs; one that runs is stopped by its worker",
        .examples = "waybill cancel 05D8K3Q9XW2RT\n"
                    "waybill cancel --queue fetch --state ready",
        .arguments = JOBS_OR_FILTER,
        .options = {filter_options, older_option, server_options},
        .run = cmd_act,
    },
    {
        .name = "retry",
        .group = GROUP_JOBS,
        .help = "Run ended jobs again",
        .examples = "waybill retry --queue fetch --state failed\n"
                    "waybill retry 05D8K3Q9XW2RT --set depth:=2",
        .arguments = JOBS_OR_FILTER,
        .options = {retry_options, filter_options, older_option, server_options},
        .run = cmd_act,
    },
    {
        .name = "hold",
        .group = GROUP_JOBS,
        .help = "Hold waiting jobs until they are released",
        .arguments = JOBS_OR_FILTER,
        .options = {filter_options, older_option, server_options},
        .run = cmd_act,
    },
    {
        .name = "release",
        .group = GROUP_JOBS,
        .help = "Release held jobs",
        .arguments = JOBS_OR_FILTER,
        .options = {filter_options, older_option, server_options},
        .run = cmd_act,
    },
    {
        .name = "clone",
        .group = GROUP_JOBS,
        .help = "Add a new job like an old one; prints its id",
        .arguments = JOBS,
        .options = {param_option, server_options},
        .run = cmd_act,
    },
    {
        .name = "now",
        .group = GROUP_JOBS,
        .help = "Make scheduled jobs ready at once",
        .arguments = JOBS_OR_FILTER,
        .options = {filter_options, older_option, server_options},
        .run = cmd_act,
    },
    {
        .name = "move",
        .group = GROUP_JOBS,
        .help = "Move waiting jobs to another queue",
        .examples = "waybill move 05D8K3Q9XW2RT --to slow\n"
                    "waybill move --queue fetch --state ready --to slow",
        .arguments = JOBS_OR_FILTER,
        .options = {move_options, filter_options, older_option, server_options},
        .run = cmd_act,
    },
    {
        .name = "rm",
        .group = GROUP_JOBS,
        .help = "Delete jobs that do not run",
        .arguments = JOBS_OR_FILTER,
        .options = {filter_options, older_option, server_options},
        .run = cmd_act,
    },
    {
        .name = "queue",
        .group = GROUP_QUEUES,
        .help = "Queues: list show pause resume drain down up restart log empty rm",
        .verbs = queue_verbs,
    },
    {
        .name = "workers",
        .group = GROUP_QUEUES,
        .help = "Workers: list show",
        .verbs = workers_verbs,
    },
    {
        .name = "apply",
        .group = GROUP_QUEUES,
        .help = "Put definitions into the store, printing what changes",
        .arguments = {{.value = {.type = VALUE_FILE, .name = "FILE|DIR"}, .repeats = true}},
        .options = {apply_options, server_options},
        .run = cmd_apply,
    },
    {
        .name = "serve",
        .group = GROUP_SERVER,
        .help = "Run the server, and a worker beside it",
        .about =
            "Prints `ready http://ADDR:PORT unix:PATH` on standard output when it takes requests.\n"
            "Its own worker runs the commands of the queues, -j of them at once; it is started\n"
            "again when it dies.\n"
            "TERM or INT stops it: running jobs have 8 s to end, then they are handed back.  HUP\n"
            "reads the definitions again.",
        .examples = "waybill serve -c queues.yaml\n"
                    "waybill serve --data /srv/waybill --listen 127.0.0.1:0",
        .options = {serve_options, log_level_option},
        .run = cmd_serve,
    },
    {
        .name = "worker",
        .group = GROUP_SERVER,
        .help = "Run a worker: claim jobs from a server and carry them out",
        .about =
            "It goes on with what it runs while the server is away, and delivers the results when\n"
            "the server is back.\n"
            "TERM or INT stops it: it takes no more, and ends when its jobs have; a second one\n"
            "ends it at once.",
        .examples =
            "waybill worker --server http://jobs.example.org:6769 -j 8\n"
            "waybill worker --server https://jobs.example.org -q render -c render.yaml --own-only",
        .options = {worker_options, log_level_option},
        .run = cmd_worker,
    },
    {
        .name = "status",
        .group = GROUP_SERVER,
        .help = "One screen: what moves, what fails, what waits for what",
        .options = {server_options},
        .run = cmd_status,
    },
    {
        .name = "top",
        .group = GROUP_SERVER,
        .help = "The same screen, live: q quits",
        .options = {server_options},
        .run = cmd_top,
    },
    {
        .name = "check",
        .group = GROUP_SERVER,
        .help = "Validate definitions; without FILE, a health check for monitoring",
        .about =
            "With FILE: reads definitions without a server; exit status 2 when they are wrong.\n"
            "Without: one line as monitoring plugins print it; exit status 0 OK, 1 WARNING,\n"
            "2 CRITICAL, 3 UNKNOWN.\n"
            "With --store: checks the store, through the server when one runs; exit status 1\n"
            "when something is wrong with it.",
        .examples = "waybill check queues.yaml\n"
                    "waybill check --warn-failed 1 --crit-failed 100 --max-age 10m\n"
                    "waybill check --store --full",
        .arguments = {{.value = {.type = VALUE_FILE, .name = "FILE|DIR"},
                       .optional = true,
                       .repeats = true}},
        .options = {check_options, server_options},
        .run = cmd_check,
    },
    {
        .name = "backup",
        .group = GROUP_SERVER,
        .help = "A consistent copy of the store, also while the server runs",
        .about = "DIR is a new or an empty directory, on the server's machine.",
        .arguments = {{.value = {.type = VALUE_DIR, .name = "DIR"}}},
        .options = {server_options},
        .run = cmd_backup,
    },
    {
        .name = "prune",
        .group = GROUP_SERVER,
        .help = "Delete ended jobs now that retention would delete later",
        .examples = "waybill prune --older 7d\n"
                    "waybill prune --queue fetch --state failed",
        .options = {filter_options, older_option, server_options},
        .run = cmd_prune,
    },
    {
        .name = "progress",
        .group = GROUP_IN_JOB,
        .help = "Say how far the job is: a count, a text, or both",
        .examples = "waybill progress 40/100 \"page 40\"\n"
                    "waybill progress 3.2/8GB --left 90s\n"
                    "waybill progress \"cleaning up\"",
        .arguments = TEXTS("N[/M][UNIT]|TEXT"),
        .options = {progress_options},
        .run = cmd_progress,
    },
    {
        .name = "emit",
        .group = GROUP_IN_JOB,
        .help = "Make a new job, which begins when this one is done",
        .about =
            "Say the job as `add` does, or as JSON; - reads one job as JSON a line from standard\n"
            "input.  When the job fails, what it has emitted is gone, except with --now.",
        .examples =
            "waybill emit fetch -p url=https://example.org/2\n"
            "waybill emit '{\"queue\":\"fetch\",\"params\":{\"url\":\"https://example.org/2\"}}'\n"
            "jq -c '.[] | {queue: \"fetch\", params: {url: .}}' links.json | waybill emit -",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "QUEUE|JSON|-"}}},
        .options = {emit_options, param_option, job_options},
        .takes_program = true,
        .run = cmd_emit,
    },
    {
        .name = "set",
        .group = GROUP_IN_JOB,
        .help = "Keep a value as part of the job's result",
        .about = "NAME VALUE keeps a text; NAME=VALUE and NAME:=JSON may be repeated.",
        .examples = "waybill set pages 12\n"
                    "waybill set title=\"Waybill\" pages:=12",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "NAME=VALUE|NAME:=JSON"},
                       .repeats = true}},
        .run = cmd_set,
    },
    {
        .name = "done",
        .group = GROUP_IN_JOB,
        .help = "Say that the job is done, perhaps with a text; exit with 0 after it",
        .arguments = TEXTS("TEXT"),
        .run = cmd_end_word,
    },
    {
        .name = "fail",
        .group = GROUP_IN_JOB,
        .help = "Say that the job has failed for good: it is not tried again",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "TEXT"}, .repeats = true}},
        .run = cmd_end_word,
    },
    {
        .name = "resend",
        .group = GROUP_IN_JOB,
        .help = "Have the job tried again later, which counts as no failure",
        .examples = "waybill resend 10m \"the archive is being written\"",
        .arguments = {{.value = {.type = VALUE_DURATION, .name = "D"}},
                      {.value = {.type = VALUE_TEXT, .name = "WHY"},
                       .optional = true,
                       .repeats = true}},
        .run = cmd_resend,
    },
    {
        .name = "bench",
        .group = GROUP_OTHER,
        .help = "Measure how fast jobs go through this machine's disk",
        .options = {bench_options},
        .run = cmd_bench,
    },
    {
        .name = "completion",
        .group = GROUP_OTHER,
        .help = "Print the completions for a shell",
        .examples = "source <(waybill completion bash)\n"
                    "waybill completion fish > ~/.config/fish/completions/waybill.fish",
        .arguments =
            {{.value = {.type = VALUE_CHOICE, .name = "bash|zsh|fish", .choices = shells}}},
        .run = cmd_completion,
    },
    {
        .name = "help",
        .group = GROUP_OTHER,
        .help = "Explain a verb, or list them",
        .arguments = {{.value = {.type = VALUE_VERB, .name = "VERB"},
                       .optional = true,
                       .repeats = true}},
        .options = {help_options},
        .run = cmd_help,
    },
    {
        .name = "version",
        .group = GROUP_OTHER,
        .help = "Print the version",
        .run = cmd_version,
    },
    {.name = NULL},
};
