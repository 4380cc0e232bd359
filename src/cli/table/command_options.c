/* SPDX-License-Identifier: MIT */
#include "cli/table/command_options.h"

#include <limits.h>
#include <stddef.h>

#include "core/job/job.h"
#include "core/job/retry.h"

static const char *const log_levels[] = {"error", "warn", "info", "debug", NULL};

const struct option_spec command_common[] = {
    {.name = "json", .help = "Print JSON instead of text; lists as one JSON document per line"},
    {.name = "help", .letter = 'h', .help = "Explain this verb"},
    {.name = NULL},
};

/* Which server. */
const struct option_spec server_options[] = {
    {
        .name = "url",
        .value = {.type = VALUE_TEXT, .name = "URL"},
        .help = "URL of the server: http://…, https://… or unix:PATH (default: see 'waybill help')",
    },
    {
        .name = "data",
        .value = {.type = VALUE_DIR, .name = "DIR"},
        .help = "Use only the server of this data directory",
    },
    {.name = "insecure", .help = "Send the token unencrypted to http:// servers on other machines"},
    {.name = NULL},
};

/* Which jobs. */
const struct option_spec filter_options[] = {
    {
        .name = "queue",
        .letter = 'q',
        .value = {.type = VALUE_NOUN, .noun = NOUN_QUEUE, .name = "QUEUE"},
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
        .help = "Jobs with TEXT in their params, command, key, labels or status text",
    },
    {
        .name = "group",
        .letter = 'g',
        .value = {.type = VALUE_NOUN, .noun = NOUN_GROUP, .name = "ID"},
        .help = "Members of this group",
    },
    {
        .name = "since",
        .value = {.type = VALUE_SINCE, .name = "D|TIME"},
        .help = "Jobs created within D or since TIME: 2h, 08:00, 2026-12-24",
    },
    {.name = NULL},
};

#define DRY_RUN                                                                                   \
    {                                                                                             \
        .name = "dry-run", .help = "Show how many jobs match, and a few of them; change nothing", \
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
        .help = "Jobs that ended more than D ago",
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
        .help = "Set a param: text after =, JSON after :=",
    },
    {.name = NULL},
};

#define FILL_OPTION                                                                    \
    {                                                                                  \
        .name = "fill",                                                                \
        .help = "Replace names in braces in CMD by params: {file} (default: as typed)" \
    }

const struct option_spec job_options[] = {
    {
        .name = "body",
        .letter = 'b',
        .value = {.type = VALUE_TEXT, .name = "X|@FILE|-"},
        .help = "The body: text X, the content of FILE, or standard input",
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
        .help = "Start no earlier than T: 22:00, '2026-12-24 22:00', or 2026-12-24T22:00:00Z",
    },
    {
        .name = "expires",
        .value = {.type = VALUE_TEXT, .name = "D|T"},
        .help = "Cancel it unless it has started within D, or by T",
    },
    {
        .name = "priority",
        .value = {.type = VALUE_INT, .name = "N", .min = JOB_PRIORITY_MIN, .max = JOB_PRIORITY_MAX},
        .help = "Priority, -1000 to 1000; higher starts first (default 0)",
    },
    {
        .name = "group",
        .value = {.type = VALUE_TEXT, .name = "ID|KIND[:NAME]"},
        .help = "Its group: an open one, or one of KIND that is opened with it",
    },
    {
        .name = "key",
        .letter = 'k',
        .value = {.type = VALUE_TEXT, .name = "K"},
        .help = "Deduplication key: a second job with the same key is not added",
    },
    {
        .name = "label",
        .letter = 'l',
        .repeats = true,
        .value = {.type = VALUE_PAIR, .name = "K=V"},
        .help = "Add a label, for filters",
    },
    {
        .name = "retry",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = RETRY_MAX_LIMIT},
        .help = "Maximum retries after a failure (default: the queue's)",
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
        .help = "Run CMD in DIR; - is an empty directory (default on the socket: the current one)",
    },
    {
        .name = "env",
        .repeats = true,
        .value = {.type = VALUE_TEXT, .name = "K[=V]"},
        .help = "Set variable K for CMD, to V or to its current value",
    },
    {
        .name = "after",
        .repeats = true,
        .value = {.type = VALUE_TEXT, .name = "X"},
        .help = "Wait for X: ID (done), ID:failure, ID:end, ID/STEP, signal:NAME[:N], or JSON",
    },
    {
        .name = "on-success",
        .repeats = true,
        .value = {.type = VALUE_TEXT, .name = "DEST"},
        .help = "When the job is done, continue with DEST: QUEUE, topic:NAME, join:NAME, "
                "signal:NAME[:N], or JSON",
    },
    {
        .name = "on-failure",
        .repeats = true,
        .value = {.type = VALUE_TEXT, .name = "DEST"},
        .help = "When the job has failed, continue with DEST",
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
        .help =
            "A job or an array of jobs as JSON, with steps for example; other options override its "
            "fields",
    },
    {.name = "redo", .help = "If a job with this --key has ended, run it again"},
    {
        .name = "lines",
        .value = {.type = VALUE_FILE, .name = "FILE|-"},
        .help = "Add many jobs, one JSON object per line; other options supply missing fields",
    },
    {.name = "dry-run", .letter = 'n', .help = "Show what would be done; add nothing"},
    {
        .name = "wait",
        .letter = 'w',
        .help = "Print the log until the job ends, then exit with the program's status",
    },
    PATIENCE("With --wait: how long to keep reconnecting to a lost server (default 1m)"),
    {.name = NULL},
};

const struct option_spec list_options[] = {
    {
        .name = "limit",
        .letter = 'n',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = INT_MAX},
        .help = "Maximum number of jobs, newest first (default 50)",
    },
    {.name = "all", .letter = 'a', .help = "No limit"},
    {.name = "ids", .help = "Print only the ids, one per line"},
    {.name = "whole", .help = "With --json: print values above 4 KiB whole, not in `cut`"},
    {.name = NULL},
};

const struct option_spec status_options[] = {
    {.name = "all", .letter = 'a', .help = "Show idle queues and absent workers as well"},
    {.name = NULL},
};

const struct option_spec log_options[] = {
    {.name = "follow", .letter = 'f', .help = "Keep printing new output until the job ends"},
    {
        .name = "tail",
        .letter = 'n',
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = 1000000},
        .help = "Print only the last N lines",
    },
    {.name = "times", .help = "Print the time before each line"},
    {
        .name = "attempt",
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = INT_MAX},
        .help = "Print only the output of attempt N; with --follow, start there",
    },
    PATIENCE("With --follow: how long to keep reconnecting to a lost server (default 1m)"),
    {.name = NULL},
};

const struct option_spec wait_options[] = {
    {
        .name = "timeout",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Give up after D with exit status 75",
    },
    PATIENCE("How long to keep reconnecting to a lost server (default 1m)"),
    {.name = NULL},
};

const struct option_spec retry_options[] = {
    {
        .name = "from",
        .value = {.type = VALUE_TEXT, .name = "STEP"},
        .help =
            "Start at this step, by number or name (default: the failed step; for a done job, the "
            "first)",
    },
    {
        .name = "set",
        .repeats = true,
        .value = {.type = VALUE_PARAM, .name = "K=V|K:=JSON"},
        .help = "Change a param for the new run",
    },
    {.name = "alone",
     .help = "Ignore its conditions and do not restore the jobs cancelled because of it"},
    {.name = NULL},
};

const struct option_spec move_options[] = {
    {
        .name = "to",
        .value = {.type = VALUE_NOUN, .noun = NOUN_QUEUE, .name = "QUEUE"},
        .help = "The queue to move the jobs to",
    },
    {.name = NULL},
};

const struct option_spec names_option[] = {
    {.name = "names", .help = "Print only the names, one per line"},
    {.name = NULL},
};

const struct option_spec step_options[] = {
    {
        .name = "queue",
        .letter = 'q',
        .value = {.type = VALUE_NOUN, .noun = NOUN_QUEUE, .name = "QUEUE"},
        .help = "The queue that runs the step (default: the queue named like the step)",
    },
    {
        .name = "timeout",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Time limit of an attempt (default: the job's or the queue's)",
    },
    {
        .name = "retry",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = RETRY_MAX_LIMIT},
        .help = "Maximum retries after a failure (default: the job's or the queue's)",
    },
    {.name = "go-on", .help = "If this step fails, continue with the next step"},
    FILL_OPTION,
    {.name = NULL},
};

const struct option_spec apply_options[] = {
    {.name = "prune", .help = "Also remove queues that are not in the files"},
    {.name = "dry-run", .letter = 'n', .help = "Show what would change; change nothing"},
    {.name = NULL},
};

const struct option_spec serve_options[] = {
    {
        .name = "config",
        .letter = 'c',
        .repeats = true,
        .value = {.type = VALUE_FILE, .name = "FILE|DIR"},
        .help = "Definitions to load at start and on HUP: a file, or a directory of files",
    },
    {
        .name = "data",
        .value = {.type = VALUE_DIR, .name = "DIR"},
        .help = "The data directory (default: see 'waybill help')",
    },
    {
        .name = "listen",
        .value = {.type = VALUE_TEXT, .name = "ADDR:PORT|none"},
        .help =
            "TCP address, besides the Unix socket (default 127.0.0.1:6769; port 0: any free port; "
            "none: no TCP)",
    },
    {
        .name = "store",
        .value = {.type = VALUE_TEXT, .name = "URL"},
        .help = "A store shared with other servers: postgresql://USER@HOST/DATABASE "
                "(default: see 'waybill help')",
    },
    {
        .name = "jobs",
        .letter = 'j',
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = 100000},
        .help =
            "Maximum programs the local worker runs at once (default: one per core; 0: no worker)",
    },
    {
        .name = "token-file",
        .value = {.type = VALUE_FILE, .name = "FILE"},
        .help = "File with the token that grants administrator rights over TCP",
    },
    {
        .name = "trust-clock",
        .help = "Start although the clock is more than a year off the store's newest ids",
    },
    {
        .name = "client-stall",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Disconnect clients that send no byte of a body or read no byte of a reply for D, "
                "1s to 24h (default 30s)",
    },
    {
        .name = "worker-silence",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Kill and restart the local worker if it does not respond for D, 1s to 24h "
                "(default 60s)",
    },
    {.name = NULL},
};

const struct option_spec log_level_option[] = {
    {
        .name = "log-level",
        .value = {.type = VALUE_CHOICE, .name = "error|warn|info|debug", .choices = log_levels},
        .help = "Lowest level written to standard error (default info)",
    },
    {.name = NULL},
};

const struct option_spec worker_options[] = {
    {
        .name = "server",
        .value = {.type = VALUE_TEXT, .name = "URL"},
        .help = "URL of the server: http://…, https://… or unix:PATH (default: see 'waybill help')",
    },
    {
        .name = "token-file",
        .value = {.type = VALUE_FILE, .name = "FILE"},
        .help = "File whose first line is the server's token (default: WAYBILL_TOKEN)",
    },
    {.name = "insecure", .help = "Send the token unencrypted to http:// servers on other machines"},
    {
        .name = "name",
        .value = {.type = VALUE_TEXT, .name = "NAME"},
        .help = "Permanent name of the worker (default: the host name)",
    },
    {
        .name = "queue",
        .letter = 'q',
        .repeats = true,
        .value = {.type = VALUE_NOUN, .noun = NOUN_QUEUE, .name = "QUEUE"},
        .help = "Serve this queue (default: all queues with a command)",
    },
    {
        .name = "jobs",
        .letter = 'j',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 100000},
        .help = "Maximum programs to run at once (default: one per core)",
    },
    {
        .name = "config",
        .letter = 'c',
        .repeats = true,
        .value = {.type = VALUE_FILE, .name = "FILE|DIR"},
        .help = "Definitions of this worker; they override the server's for the same queues",
    },
    {.name = "own-only",
     .help = "Run only commands from the worker's own definitions, never the server's"},
    {
        .name = "subscribe",
        .repeats = true,
        .value = {.type = VALUE_NOUN, .noun = NOUN_TOPIC, .name = "TOPIC"},
        .help =
            "Receive everything published to TOPIC, also while stopped, in a queue of this worker; "
            "without -q, serve no other queue",
    },
    {
        .name = "lifetime",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "With --subscribe: remove its queues after D of absence (default 7d)",
    },
    {
        .name = "grace",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "After TERM, give running jobs D to end, then return them (default 60s)",
    },
    {
        .name = "lease",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "The server takes jobs back after D without contact, 1s to 24h (default 60s)",
    },
    {
        .name = "data",
        .value = {.type = VALUE_DIR, .name = "DIR"},
        .help = "Directory for its state, in workers/NAME (default: see 'waybill help'); also "
                "names the server if --server does not",
    },
    {
        .name = "parent-fd",
        .value = {.type = VALUE_INT, .name = "FD", .min = 3, .max = 1023},
        .help = "Exit when this descriptor is closed; serve uses it for the local worker",
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
        .help = "Create it immediately, even if this job fails later; print its id",
    },
    {.name = NULL},
};

const struct option_spec run_options[] = {
    {
        .name = "jobs",
        .letter = 'j',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 4096},
        .help = "Maximum programs to run at once (default: one per core)",
    },
    {.name = "no-wait", .help = "Exit with 75 if all that is left must wait; for cron"},
    {.name = "status", .help = "Show what is done and what is left; runs nothing"},
    {.name = "show", .help = "Print the output of the failed jobs; runs nothing"},
    {.name = "failed", .help = "Run the failed jobs again, and all that is left"},
    {.name = "again", .help = "Start over: forget all instructions and data of FILE's machine"},
    {
        .name = "listen",
        .value = {.type = VALUE_TEXT, .name = "ADDR:PORT"},
        .help = "Serve HTTP meanwhile",
    },
    {.name = NULL},
};

const struct option_spec each_options[] = {
    {
        .name = "jobs",
        .letter = 'j',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 4096},
        .help = "Maximum programs to run at once (default: one per core)",
    },
    {
        .name = "rate",
        .value = {.type = VALUE_TEXT, .name = "N/D"},
        .help = "Maximum N starts in time D, evenly spaced: 10/1m, 5/s",
    },
    {
        .name = "retry",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = RETRY_MAX_LIMIT},
        .help = "Maximum retries of a failed line, after 1s, 2s, 4s … (default 0)",
    },
    {
        .name = "timeout",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "Time limit of an attempt: TERM, 10 s later KILL",
    },
    {.name = "keep-order", .letter = 'k', .help = "Print output in the order of the input lines"},
    {
        .name = "colsep",
        .value = {.type = VALUE_TEXT, .name = "S"},
        .help = "Column separator, \\t for a tab: {1} {2} … are the columns",
    },
    {
        .name = "lines",
        .letter = 'N',
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 1000},
        .help = "Lines per command: {} is all of them, {1} {2} … are single lines",
    },
    {
        .name = "arg-file",
        .letter = 'a',
        .value = {.type = VALUE_FILE, .name = "FILE"},
        .help = "Read lines from FILE instead of standard input",
    },
    {.name = "null", .letter = '0', .help = "Input items end with NUL instead of newline"},
    {.name = "dry-run", .letter = 'n', .help = "Print the commands; run nothing"},
    {
        .name = "halt",
        .value = {.type = VALUE_TEXT, .name = "WHEN"},
        .help = "Stop after a failure: soon (running programs finish) or now; "
                "soon,fail=3 after three failures, now,fail=10% after a tenth of the lines",
    },
    {
        .name = "results",
        .value = {.type = VALUE_DIR, .name = "DIR"},
        .help = "Also write each line's output to DIR/NUMBER/stdout and DIR/NUMBER/stderr",
    },
    {.name = "failed", .help = "Run only lines that failed and are not done since; reads no input"},
    {.name = "show", .help = "Print the output of the failed lines; runs nothing"},
    {.name = "again", .help = "Start over and discard the earlier run"},
    {.name = "list", .help = "List unfinished runs; runs nothing"},
    {.name = NULL},
};

#define LINES_A_COMMAND "several lines per command: -N N"
#define THE_BAR "progress is always shown on a terminal"

/* Of xargs and GNU parallel. */
const struct foreign_word each_foreign[] = {
    {"-P", .advice = "programs at once: -j N"},
    {"--max-procs", .advice = "programs at once: -j N"},
    {"-I", .advice = "the line is always {} in the command"},
    {"-i", .advice = "the line is always {} in the command"},
    {"--replace", .advice = "the line is always {} in the command"},
    {"-n", .number = true, .advice = LINES_A_COMMAND " (-n is --dry-run here)"},
    {"--max-args", .advice = LINES_A_COMMAND},
    {"-L", .advice = LINES_A_COMMAND},
    {"--max-lines", .advice = LINES_A_COMMAND},
    {"-d", .advice = "items between NULs: -0; columns of a line: --colsep S"},
    {"--delimiter", .advice = "items between NULs: -0; columns of a line: --colsep S"},
    {"-r", .advice = "nothing runs without input, so -r is not needed"},
    {"--no-run-if-empty", .advice = "nothing runs without input, so this option is not needed"},
    {"--retries", .advice = "retries of a line after a failure: --retry N"},
    {"--bar", .advice = THE_BAR},
    {"--progress", .advice = THE_BAR},
    {"--eta", .advice = THE_BAR},
    {"--tag", .advice = "to see which line produced an output: --json, or --results DIR"},
    {"-t", .advice = "to see the commands: --dry-run"},
    {"--verbose", .advice = "to see the commands: --dry-run"},
    {"-X", .advice = LINES_A_COMMAND},
    {"-q", .advice = "no shell reads the command, so -q is not needed"},
    {"--quote", .advice = "no shell reads the command, so --quote is not needed"},
    {"--pipe",
     .advice =
         "a line is an argument, not input: each -- sh -c 'printf \"%s\\n\" \"$1\" | CMD' sh {}"},
    {"--delay", .advice = "to space the starts: --rate 10/1m"},
    {"--joblog", .advice = "a record of each line: --json, or --results DIR"},
    {"--resume", .advice = "the same command continues the run; --again starts over"},
    {"--resume-failed", .advice = "to run the failed lines again: --failed"},
    {":::", .advice = "give the items on standard input, one per line, or with -a FILE"},
    {.word = NULL},
};

const struct option_spec store_copy_options[] = {
    {
        .name = "from",
        .value = {.type = VALUE_DIR, .name = "DIR|URL"},
        .help = "Source: a data directory, or postgresql://…",
    },
    {
        .name = "to",
        .value = {.type = VALUE_DIR, .name = "DIR|URL"},
        .help = "Target: a new or empty data directory or database",
    },
    {.name = NULL},
};

const struct option_spec check_options[] = {
    {
        .name = "warn-failed",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "WARNING at N or more failed jobs",
    },
    {
        .name = "crit-failed",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "CRITICAL at N or more failed jobs",
    },
    {
        .name = "warn-ready",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "WARNING at N or more ready jobs",
    },
    {
        .name = "crit-ready",
        .value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX},
        .help = "CRITICAL at N or more ready jobs",
    },
    {
        .name = "max-age",
        .value = {.type = VALUE_DURATION, .name = "D"},
        .help = "CRITICAL if a job has been ready for longer than D",
    },
    {.name = "store", .help = "Check the store with the database's quick check"},
    {.name = "full", .help = "With --store: check every page, count and rule between tables"},
    {.name = NULL},
};

const struct option_spec bench_options[] = {
    {
        .name = "url",
        .value = {.type = VALUE_TEXT, .name = "URL"},
        .help = "Server to load, on this machine (default: start a temporary one)",
    },
    {
        .name = "dir",
        .value = {.type = VALUE_DIR, .name = "DIR"},
        .help = "Where the temporary server keeps its data (default: the current directory)",
    },
    {
        .name = "batch",
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 1000},
        .help = "Jobs per request (default 100)",
    },
    {
        .name = "connections",
        .value = {.type = VALUE_INT, .name = "N", .min = 1, .max = 1000},
        .help = "Connections for single submits (default 50); batches use an eighth of them",
    },
    {
        .name = "seconds",
        .value = {.type = VALUE_INT, .name = "S", .min = 1, .max = 3600},
        .help = "Duration of each part (default 5)",
    },
    {.name = NULL},
};

const struct option_spec help_options[] = {
    {.name = "markdown", .help = "Print all verbs as Markdown, for docs/cli.md"},
    {.name = NULL},
};
