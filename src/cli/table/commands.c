/* SPDX-License-Identifier: MIT */
#include "cli/table/command.h"

#include <stddef.h>

#include "cli/cmd/cmd.h"
#include "cli/table/command_links.h"
#include "cli/table/command_options.h"
#include "core/route/dest.h"

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

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
        .options = {names_option, server_options},
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
        .options = {dry_run_option, server_options},
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

static const struct command store_verbs[] = {
    {
        .name = "copy",
        .help = "Move a store into PostgreSQL, back, or to another place",
        .about =
            "No server may be at work on either.  The target is new or empty.  The source\n"
            "stays as it is.  Everything is read back and compared: the exit status is 0 only\n"
            "when all of it is the same.  Until then no server opens the target; interrupted\n"
            "or killed, the same command begins anew.  Afterwards both hold the same jobs:\n"
            "serve only one of them.",
        .examples =
            "waybill store copy --from /var/lib/waybill --to postgresql://waybill@db/waybill\n"
            "waybill store copy --from postgresql://waybill@db/waybill --to /var/lib/waybill",
        .options = {store_copy_options},
        .run = cmd_store_copy,
    },
    {.name = NULL},
};

const struct command commands[] = {
    {
        .name = "add",
        .group = GROUP_JOBS,
        .help = "Submit a job; prints its id",
        .about =
            "With -- CMD the job brings its own program, taken as it was typed: the queue must\n"
            "allow it (own_command, as `default` does, where it goes without QUEUE), and the\n"
            "server must be reached over its Unix socket or with its token.  Over the socket it\n"
            "runs in the current directory.\n"
            "With --wait the exit status is the program's: 128+N for signal N, 1 if it has none.\n"
            "A whole job (--job) may have steps, which name their queues, and then no QUEUE; jobs\n"
            "of an array may name each other by `ref`.",
        .examples = "waybill add fetch -p url=https://example.org/ -p depth:=3\n"
                    "waybill add mail --body @letter.txt --at 22:00 --key letter-417\n"
                    "waybill add --wait -- make -C /srv/site\n"
                    "waybill add -p file=a.txt --fill -- wc -l {file}\n"
                    "waybill add fetch --lines jobs.ndjson\n"
                    "waybill add report --after 05D8K3Q9XW2RT --after signal:dump:10\n"
                    "waybill add --job @route.json -p case=7 --dry-run",
        .arguments = {{.value = {.type = VALUE_QUEUE, .name = "QUEUE"}, .optional = true}},
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
            "Without --colsep and -N, {1} is the line as well.\n"
            "{.} is the line without its extension, {/} its base name, {//} its directory, {/.}\n"
            "its base name without extension, {#} its number.  ${…} and all other braces are left\n"
            "as they are.  Each is one argument, whatever is in it; no shell sees it.  Prints what\n"
            "each program has printed when it has ended.\n"
            "A run is known by directory, command, --colsep and -N: interrupted or killed, the\n"
            "same command with the same input goes on where it was; finished, it begins anew.\n"
            "Needs no server.  Exit status 1 when a line has failed.",
        .examples =
            "waybill each -j 8 --retry 3 -- curl -sSfO {} < urls.txt\n"
            "find . -name '*.wav' -print0 | waybill each -0 -- flac {}\n"
            "waybill each --colsep '\\t' -- convert {1} -resize {2} {1}.jpg < list.tsv\n"
            "waybill each -- sh -c 'flac -s -o \"${1%.wav}.flac\" \"$1\"' sh {} < songs.txt\n"
            "waybill each --failed -j 8 --retry 3 -- curl -sSfO {}",
        .options = {each_options},
        .foreign = each_foreign,
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
        .options = {filter_options, bulk_options, server_options},
        .run = cmd_act,
    },
    {
        .name = "retry",
        .group = GROUP_JOBS,
        .help = "Run ended jobs again",
        .about =
            "A job with steps goes on at the step that failed; what it did is kept in its record.\n"
            "What was cancelled because this job failed comes back and waits for it again, and so on:\n"
            "a failed graph goes on in order.  A job that was cancelled so waits for its conditions again.",
        .examples = "waybill retry --queue fetch --state failed\n"
                    "waybill retry 05D8K3Q9XW2RT --set depth:=2\n"
                    "waybill retry 05D8K3Q9XW2RT --from extract --set case=8",
        .arguments = JOBS_OR_FILTER,
        .options = {retry_options, filter_options, bulk_options, server_options},
        .run = cmd_act,
    },
    {
        .name = "hold",
        .group = GROUP_JOBS,
        .help = "Hold waiting jobs until they are released",
        .arguments = JOBS_OR_FILTER,
        .options = {filter_options, bulk_options, server_options},
        .run = cmd_act,
    },
    {
        .name = "release",
        .group = GROUP_JOBS,
        .help = "Release held jobs",
        .arguments = JOBS_OR_FILTER,
        .options = {filter_options, bulk_options, server_options},
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
        .options = {filter_options, bulk_options, server_options},
        .run = cmd_act,
    },
    {
        .name = "move",
        .group = GROUP_JOBS,
        .help = "Move waiting jobs to another queue",
        .examples = "waybill move 05D8K3Q9XW2RT --to slow\n"
                    "waybill move --queue fetch --state ready --to slow",
        .arguments = JOBS_OR_FILTER,
        .options = {move_options, filter_options, bulk_options, server_options},
        .run = cmd_act,
    },
    {
        .name = "edit",
        .group = GROUP_JOBS,
        .help = "Change a waiting job in your editor: params, priority, due time, labels",
        .about =
            "VISUAL or EDITOR names the editor.  Refused when the job was changed meanwhile, or began to\n"
            "run; what you wrote is kept then.",
        .arguments = {{.value = {.type = VALUE_JOB, .name = "ID"}}},
        .options = {server_options},
        .run = cmd_edit,
    },
    {
        .name = "rm",
        .group = GROUP_JOBS,
        .help = "Delete jobs that do not run",
        .arguments = JOBS_OR_FILTER,
        .options = {filter_options, bulk_options, server_options},
        .run = cmd_act,
    },
    {
        .name = "queue",
        .group = GROUP_QUEUES,
        .help = "Queues: list show pause resume drain down up restart log empty rm",
        .verbs = queue_verbs,
    },
    {
        .name = "topic",
        .group = GROUP_QUEUES,
        .help = "Topics: list show publish",
        .verbs = topic_verbs,
    },
    {
        .name = "signal",
        .group = GROUP_QUEUES,
        .help = "Signals: list show raise clear",
        .verbs = signal_verbs,
    },
    {
        .name = "join",
        .group = GROUP_QUEUES,
        .help = "Joins: list show arrive clear",
        .verbs = join_verbs,
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
            "ends it at once.\n"
            "A topic that it is subscribed to has a queue of its own there, TOPIC@NAME; it runs what\n"
            "its own file defines for queue TOPIC, else what the server does.",
        .examples =
            "waybill worker --server http://jobs.example.org:6769 -j 8\n"
            "waybill worker --server https://jobs.example.org -q render -c render.yaml --own-only\n"
            "waybill worker --server http://jobs.example.org:6769 --subscribe import_dump -c own.yaml",
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
        .help = "The same screen, live; looks into jobs: q quits, ? has the keys",
        .options = {server_options},
        .run = cmd_top,
    },
    {
        .name = "check",
        .group = GROUP_SERVER,
        .help = "Validate definitions; without FILE, a health check for monitoring",
        .about =
            "With FILE: reads definitions as `serve` would, without a server, and tells all that is\n"
            "wrong with them; exit status 2 then.\n"
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
        .name = "store",
        .group = GROUP_SERVER,
        .help = "Copy the store to another place",
        .verbs = store_verbs,
    },
    {
        .name = "prune",
        .group = GROUP_SERVER,
        .help = "Delete ended jobs now that retention would delete later",
        .examples = "waybill prune --older 7d\n"
                    "waybill prune --queue fetch --state failed",
        .options = {filter_options, bulk_options, server_options},
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
        .name = "step",
        .group = GROUP_IN_JOB,
        .help = "Add a step to the job's own route, before its final steps",
        .about = "Say its name, which is its queue unless -q says another, or the step as JSON.\n"
                 "It is added when this step is done.",
        .examples =
            "waybill step unpack -q shelf -p part:=3\n"
            "waybill step '{\"name\":\"unpack\",\"queue\":\"shelf\",\"params\":{\"part\":3}}'",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "NAME|JSON"}}},
        .options = {step_options, param_option},
        .takes_program = true,
        .run = cmd_step,
    },
    {
        .name = "raise",
        .group = GROUP_IN_JOB,
        .help = "Raise a signal, by 1 or by N, when this attempt is done",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "NAME"}},
                      {.value = {.type = VALUE_INT, .name = "N", .min = 1, .max = SIGNAL_COUNT_MAX},
                       .optional = true}},
        .run = cmd_raise,
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
