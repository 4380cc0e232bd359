/* SPDX-License-Identifier: MIT */
#include "cli/table/command_options.h"

#include <limits.h>
#include <stddef.h>

#include "core/job/job.h"
#include "core/job/retry.h"

static const char *const log_levels[] = {"error", "warn", "info", "debug", NULL};

const struct option_spec command_common[] = {
    {.name = "json", .help = "JSON instead of text for people; lists as one JSON document a line"},
    {.name = "help", .letter = 'h', .help = "Explain this verb"},
    {.name = NULL},
};

/* Which server. */
const struct option_spec server_options[] = {
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
    {.name = "insecure", .help = "Send the token unencrypted to http:// servers on other machines"},
    {.name = NULL},
};

/* Which jobs. */
const struct option_spec filter_options[] = {
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
    {
        .name = "since",
        .value = {.type = VALUE_SINCE, .name = "D|TIME"},
        .help = "Jobs made no longer ago than that, or since that time: 2h, 08:00, 2026-12-24",
    },
    {.name = NULL},
};

#define DRY_RUN                                                                  \
    {                                                                            \
        .name = "dry-run",                                                       \
        .help = "Tell how many jobs that would be, and show a few; change none", \
    }

const struct option_spec dry_run_option[] = {
    DRY_RUN,
    {.name = NULL},
};

/* Of actions over a filter. */
const struct option_spec bulk_options[] = {
    {
        .name = "older",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Jobs that ended longer ago than that",
    },
    DRY_RUN,
    {.name = NULL},
};

const struct option_spec param_option[] = {
    {
        .name = "param",
        .letter = 'p',
        .repeats = true,
        .value = {.type = VALUE_PARAM, .name = "K=V|K:=JSON"},
        .help = "A parameter: text after =, JSON after :=",
    },
    {.name = NULL},
};

#define FILL_OPTION                                                                       \
    {                                                                                     \
        .name = "fill",                                                                   \
        .help = "Fill names in braces in CMD from the params: {file} (default: as typed)" \
    }

const struct option_spec job_options[] = {
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
        .help = "Start no earlier than D from now",
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
        .help = "Retries after a failure (default: the queue's)",
    },
    {
        .name = "timeout",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Time limit of an attempt (default: the queue's)",
    },
    FILL_OPTION,
    {
        .name = "workdir",
        .value = {.type = VALUE_DIR, .name = "DIR"},
        .help = "CMD runs in DIR; - for an empty directory (default over the Unix socket: here)",
    },
    {
        .name = "env",
        .repeats = true,
        .value = {.type = VALUE_TEXT, .name = "K[=V]"},
        .help = "CMD has the variable K, with this value or with the one it has here",
    },
    {
        .name = "after",
        .repeats = true,
        .value = {.type = VALUE_TEXT, .name = "X"},
        .help = "Not before this: ID (done), ID:failure, ID:end, ID/STEP, signal:NAME, "
                "signal:NAME:N, or JSON",
    },
    {
        .name = "on-success",
        .repeats = true,
        .value = {.type = VALUE_TEXT, .name = "DEST"},
        .help = "When it is done, go on with a job of this QUEUE, or topic:NAME, join:NAME, "
                "signal:NAME[:N], or JSON",
    },
    {
        .name = "on-failure",
        .repeats = true,
        .value = {.type = VALUE_TEXT, .name = "DEST"},
        .help = "The same when it has failed",
    },
    {.name = NULL},
};

/* clang-format off */
#define PATIENCE(text) \
    {.name = "patience", .value = {.type = VALUE_DURATION, .name = "D"}, .help = (text)}
/* clang-format on */

const struct option_spec add_options[] = {
    {
        .name = "job",
        .value = {.type = VALUE_TEXT, .name = "JSON|@FILE|-"},
        .help = "A whole job, or an array of jobs, as JSON: with steps, for example; what the line "
                "says besides is laid over it",
    },
    {.name = "redo", .help = "When a job of that --key has ended, run it again"},
    {
        .name = "lines",
        .value = {.type = VALUE_FILE, .name = "FILE|-"},
        .help = "Add many: one job as JSON a line; what a line does not say comes from here",
    },
    {.name = "dry-run", .letter = 'n', .help = "Only show what would be done; add nothing"},
    {
        .name = "wait",
        .letter = 'w',
        .help = "Wait until the job has ended, with its log, and exit as its program did",
    },
    PATIENCE("With --wait: how long to try again when the server has gone away (default 1m)"),
    {.name = NULL},
};

const struct option_spec list_options[] = {
    {
        .name = "limit",
        .letter = 'n',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = INT_MAX},
        .help = "Maximum number of jobs, newest first (default 50)",
    },
    {.name = "all", .letter = 'a', .help = "All of them"},
    {.name = "ids", .help = "Only the ids, one a line"},
    {.name = NULL},
};

const struct option_spec log_options[] = {
    {.name = "follow", .letter = 'f', .help = "Go on as it grows, until the job has ended"},
    {
        .name = "tail",
        .letter = 'n',
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = 1000000},
        .help = "Only the last N lines",
    },
    {.name = "times", .help = "Each line with the time at which it came"},
    {
        .name = "attempt",
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = INT_MAX},
        .help = "Only what attempt N has printed; with --follow from there on",
    },
    PATIENCE("With --follow: how long to try again when the server has gone away (default 1m)"),
    {.name = NULL},
};

const struct option_spec queue_log_options[] = {
    {
        .name = "limit",
        .letter = 'n',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 1000},
        .help = "The last N entries (default 100)",
    },
    {.name = NULL},
};

const struct option_spec wait_options[] = {
    {
        .name = "timeout",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Give up after D, with exit status 75",
    },
    PATIENCE("How long to try again when the server has gone away (default 1m)"),
    {.name = NULL},
};

const struct option_spec retry_options[] = {
    {
        .name = "from",
        .value = {.type = VALUE_TEXT, .name = "STEP"},
        .help = "Begin at this step, a number or a name (default: the one that failed; of a done "
                "job the first)",
    },
    {
        .name = "set",
        .repeats = true,
        .value = {.type = VALUE_PARAM, .name = "K=V|K:=JSON"},
        .help = "Run it with this parameter changed",
    },
    {.name = "alone",
     .help =
         "Do not wait again for what it waited for, and do not bring back what it had cancelled"},
    {.name = NULL},
};

const struct option_spec move_options[] = {
    {
        .name = "to",
        .value = {.type = VALUE_QUEUE, .name = "QUEUE"},
        .help = "The queue to move to",
    },
    {.name = NULL},
};

const struct option_spec names_option[] = {
    {.name = "names", .help = "Only the names, one a line"},
    {.name = NULL},
};

const struct option_spec publish_options[] = {
    {
        .name = "priority",
        .value = {.type = VALUE_INT, .name = "N", .min = JOB_PRIORITY_MIN, .max = JOB_PRIORITY_MAX},
        .help = "Higher goes first, -1000 to 1000 (default 0)",
    },
    {
        .name = "label",
        .letter = 'l',
        .repeats = true,
        .value = {.type = VALUE_PAIR, .name = "K=V"},
        .help = "A label, to find the jobs by",
    },
    {.name = NULL},
};

const struct option_spec join_key_option[] = {
    {
        .name = "key",
        .letter = 'k',
        .value = {.type = VALUE_TEXT, .name = "K"},
        .help = "Only what has arrived with this key",
    },
    {.name = NULL},
};

const struct option_spec step_options[] = {
    {
        .name = "queue",
        .letter = 'q',
        .value = {.type = VALUE_QUEUE, .name = "QUEUE"},
        .help = "Where it is carried out (default: the queue of the step's name)",
    },
    {
        .name = "timeout",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Time limit of an attempt (default: the job's or the queue's)",
    },
    {
        .name = "retry",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = RETRY_MAX_LIMIT},
        .help = "Retries after a failure (default: the job's or the queue's)",
    },
    {.name = "go-on", .help = "Go on with the next step also when this one has failed"},
    FILL_OPTION,
    {.name = NULL},
};

const struct option_spec apply_options[] = {
    {.name = "prune", .help = "Also remove queues that are not in the files"},
    {.name = "dry-run", .letter = 'n', .help = "Only show what would change"},
    {.name = NULL},
};

const struct option_spec serve_options[] = {
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
        .help = "A store that it shares with other servers, like postgresql://USER@HOST/DATABASE "
                "(default: see 'waybill help')",
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
    {
        .name = "trust-clock",
        .help = "The clock is right, though it is more than a year off the store's newest ids",
    },
    {
        .name = "client-stall",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help =
            "Cut off clients that send no byte of a body, or take none of a reply, for D, 1s to "
            "24h (default 30s)",
    },
    {
        .name = "worker-silence",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Kill the local worker, and start it again, when it has hung for D, 1s to 24h "
                "(default 60s)",
    },
    {.name = NULL},
};

const struct option_spec log_level_option[] = {
    {
        .name = "log-level",
        .value = {.type = VALUE_CHOICE, .name = "error|warn|info|debug", .choices = log_levels},
        .help = "What to write to standard error (default info)",
    },
    {.name = NULL},
};

const struct option_spec worker_options[] = {
    {
        .name = "server",
        .value = {.type = VALUE_TEXT, .name = "URL"},
        .help = "The server: http://…, https://… or unix:PATH (default: see 'waybill help')",
    },
    {
        .name = "token-file",
        .value = {.type = VALUE_FILE, .name = "FILE"},
        .help = "The server's token, in the first line of FILE (default: WAYBILL_TOKEN)",
    },
    {.name = "insecure", .help = "Send the token unencrypted to http:// servers on other machines"},
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
        .name = "subscribe",
        .repeats = true,
        .value = {.type = VALUE_TOPIC, .name = "TOPIC"},
        .help = "Get all that is published there, also what comes while it is away, in a queue of "
                "its own; without -q serve nothing else",
    },
    {
        .name = "lifetime",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "With --subscribe: drop its queues when it has been away for D (default 7d)",
    },
    {
        .name = "grace",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "After TERM, let running jobs end for D, then hand them back (default 60s)",
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
        .help =
            "Where it keeps its state, in workers/NAME (default: see 'waybill help'); the server of "
            "this directory when no other is named",
    },
    {
        .name = "parent-fd",
        .value = {.type = VALUE_INT, .name = "FD", .min = 3, .max = 1023},
        .help = "End at once when this descriptor ends: how serve keeps its own worker",
    },
    {.name = NULL},
};

const struct option_spec progress_options[] = {
    {
        .name = "left",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Estimated time left",
    },
    {.name = NULL},
};

const struct option_spec emit_options[] = {
    {
        .name = "now",
        .letter = '!',
        .help = "At once, whatever becomes of this job; prints the new job's id",
    },
    {.name = NULL},
};

const struct option_spec each_options[] = {
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
        .help = "Retries of a line after a failure, after 1s, 2s, 4s … (default 0)",
    },
    {
        .name = "timeout",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Time limit of an attempt: TERM, 10 s later KILL",
    },
    {.name = "keep-order", .letter = 'k', .help = "Print outputs in the order of the lines"},
    {
        .name = "colsep",
        .value = {.type = VALUE_TEXT, .name = "S"},
        .help = "What stands between columns, \\t for a tab: {1} {2} … are the columns",
    },
    {
        .name = "lines",
        .letter = 'N',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 1000},
        .help = "Lines per command: {} is all of them, {1} {2} … are single ones",
    },
    {
        .name = "arg-file",
        .letter = 'a',
        .value = {.type = VALUE_FILE, .name = "FILE"},
        .help = "Read lines from FILE instead of standard input",
    },
    {.name = "null", .letter = '0', .help = "Input has NULs instead of line ends"},
    {.name = "dry-run", .letter = 'n', .help = "Only print the commands"},
    {
        .name = "halt",
        .value = {.type = VALUE_TEXT, .name = "WHEN"},
        .help = "Stop early after a failure: soon (what runs comes to its end) or now; "
                "soon,fail=3 after three, now,fail=10% after a tenth of the lines",
    },
    {
        .name = "results",
        .value = {.type = VALUE_DIR, .name = "DIR"},
        .help = "Also write each line's output to DIR/NUMBER/stdout and DIR/NUMBER/stderr",
    },
    {.name = "failed", .help = "Run the lines again that failed; reads no input"},
    {.name = "show", .help = "Print what the failed lines have printed; runs nothing"},
    {.name = "again", .help = "Begin anew, whatever there was of this run"},
    {.name = "list", .help = "List the runs that are not finished; runs nothing"},
    {.name = NULL},
};

#define LINES_A_COMMAND "several lines a command: -N N"
#define THE_BAR "the progress is shown on a terminal, always"

/* Of xargs and GNU parallel. */
const struct foreign_word each_foreign[] = {
    {"-P", .advice = "programs at once: -j N"},
    {"--max-procs", .advice = "programs at once: -j N"},
    {"-I", .advice = "the line is {} in the command, always"},
    {"-i", .advice = "the line is {} in the command, always"},
    {"--replace", .advice = "the line is {} in the command, always"},
    {"-n", .number = true, .advice = LINES_A_COMMAND " (-n is --dry-run here)"},
    {"--max-args", .advice = LINES_A_COMMAND},
    {"-L", .advice = LINES_A_COMMAND},
    {"--max-lines", .advice = LINES_A_COMMAND},
    {"-d", .advice = "items between NULs: -0; columns of a line: --colsep S"},
    {"--delimiter", .advice = "items between NULs: -0; columns of a line: --colsep S"},
    {"-r", .advice = "without input nothing is run, so -r is not needed"},
    {"--no-run-if-empty", .advice = "without input nothing is run, so that is not needed"},
    {"--retries", .advice = "retries of a line after a failure: --retry N"},
    {"--bar", .advice = THE_BAR},
    {"--progress", .advice = THE_BAR},
    {"--eta", .advice = THE_BAR},
    {"--tag", .advice = "which line an output is of: --json, or --results DIR"},
    {"-t", .advice = "to see the commands: --dry-run"},
    {"--verbose", .advice = "to see the commands: --dry-run"},
    {"-X", .advice = LINES_A_COMMAND},
    {"-q", .advice = "no shell reads the command, so -q is not needed"},
    {"--quote", .advice = "no shell reads the command, so --quote is not needed"},
    {"--pipe",
     .advice =
         "a line is an argument, not input: each -- sh -c 'printf \"%s\\n\" \"$1\" | CMD' sh {}"},
    {"--delay", .advice = "starts spaced in time: --rate 10/1m"},
    {"--joblog", .advice = "a record of each line: --json, or --results DIR"},
    {"--resume", .advice = "the same command goes on where it was; --again begins anew"},
    {"--resume-failed", .advice = "the failed lines again: --failed"},
    {":::", .advice = "give the items on standard input, one a line, or with -a FILE"},
    {.word = NULL},
};

const struct option_spec store_copy_options[] = {
    {
        .name = "from",
        .value = {.type = VALUE_DIR, .name = "DIR|URL"},
        .help = "The store that is copied: a data directory, or postgresql://…",
    },
    {
        .name = "to",
        .value = {.type = VALUE_DIR, .name = "DIR|URL"},
        .help = "Where it is copied to: a new or empty one of either kind",
    },
    {.name = NULL},
};

const struct option_spec check_options[] = {
    {
        .name = "warn-failed",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "WARNING from N failed jobs on",
    },
    {
        .name = "crit-failed",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "CRITICAL from N failed jobs on",
    },
    {
        .name = "warn-ready",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "WARNING from N ready jobs on",
    },
    {
        .name = "crit-ready",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "CRITICAL from N ready jobs on",
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

const struct option_spec bench_options[] = {
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

const struct option_spec help_options[] = {
    {.name = "markdown", .help = "All of it, as docs/cli.md has it"},
    {.name = NULL},
};
