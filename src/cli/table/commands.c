/* SPDX-License-Identifier: MIT */
#include "cli/table/command.h"

#include <stddef.h>

#include "cli/cmd/cmd.h"
#include "cli/table/command_options.h"
#include "cli/table/noun.h"
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
static const struct command store_verbs[] = {
    {
        .name = "copy",
        .help = "Copy a store to PostgreSQL, back, or to another directory",
        .about =
            "Stop all servers on both stores first.  The target must be new or empty; the source\n"
            "is not changed.  The copy is read back and compared: the exit status is 0 only when\n"
            "everything matches.  Until then no server opens the target.  If the command is\n"
            "interrupted or killed, run it again: it starts over.  Afterwards both stores hold\n"
            "the same jobs: run servers on one of them only.",
        .examples =
            "waybill store copy --from /var/lib/waybill --to postgresql://waybill@db/waybill\n"
            "waybill store copy --from postgresql://waybill@db/waybill --to /var/lib/waybill",
        .options = {store_copy_options},
        .run = cmd_store_copy,
    },
    {.name = NULL},
};

#define NOUN_COMMAND(ID, word, verb, text) \
    {                                      \
        .name = (verb),                    \
        .group = GROUP_QUEUES,             \
        .help = (text),                    \
        .verbs = word##_verbs,             \
        .noun = NOUN_##ID,                 \
    },

const struct command commands[] = {
    {
        .name = "add",
        .group = GROUP_JOBS,
        .help = "Submit a job and print its id",
        .about =
            "With -- CMD the job runs CMD exactly as typed.  The queue must allow this with\n"
            "own_command: true.  The built-in queue `default` does; it is used when QUEUE is\n"
            "missing.  CMD needs the server's Unix socket or its token.  Over the socket, CMD\n"
            "runs in the current directory.\n"
            "With --wait the exit status is the program's: 128+N for signal N, 1 if it has none.\n"
            "Of output beyond the queue's keep.log (1M) only the start and the end are printed; a\n"
            "message on standard error says how much is missing.\n"
            "A job given with --job may have steps; the steps name the queues, so QUEUE must be\n"
            "missing.  Jobs of an array may refer to each other by `ref`.",
        .examples = "waybill add fetch -p url=https://example.org/ -p depth:=3\n"
                    "waybill add mail --body @letter.txt --at 22:00 --key letter-417\n"
                    "waybill add --wait -- make -C /srv/site\n"
                    "waybill add -p file=a.txt --fill -- wc -l {file}\n"
                    "waybill add fetch --lines jobs.ndjson\n"
                    "waybill add report --after 05D8K3Q9XW2RT --after signal:dump:10\n"
                    "waybill add --job @route.json -p case=7 --dry-run",
        .arguments = {{.value = {.type = VALUE_NOUN, .noun = NOUN_QUEUE, .name = "QUEUE"},
                       .optional = true}},
        .options = {param_option, job_options, add_options, server_options},
        .takes_program = true,
        .run = cmd_add,
    },
    {
        .name = "each",
        .group = GROUP_JOBS,
        .help = "Run a program for each line of input, like a durable xargs",
        .about =
            "In CMD, {} is the line.  {1} {2} … are its columns (with --colsep); without --colsep\n"
            "and -N, {1} is the line.  {.} is the line without its extension, {/} its base name,\n"
            "{//} its directory, {/.} its base name without extension, {#} its number.  If CMD\n"
            "has none of these, the line is added as its last argument.  ${…} and all other\n"
            "braces stay unchanged.  A value is always part of one argument; no shell interprets\n"
            "it.  The output of each program is printed when the program ends.\n"
            "The directory, the command, --colsep and -N identify a run.  If a run was\n"
            "interrupted or killed, the same command with the same input continues it.  If it has\n"
            "finished, the same command starts a new run.\n"
            "No server is needed.  The exit status is 1 if a line failed, or if\n"
            "--failed left lines that have not run yet.",
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
        .name = "run",
        .group = GROUP_JOBS,
        .help = "Work off a definition file: its start: jobs and all that follows from them",
        .about =
            "FILE has definitions and the jobs to start with.  They are submitted once, then run\n"
            "until nothing is left.  KEY=VALUE (or KEY:=JSON) fills {KEY} in start:, or else is\n"
            "merged into the params: a new instruction to the same machine.  If a run was\n"
            "interrupted or killed, the same command continues it.  If it has finished, the same\n"
            "command starts a new run.  No server is needed.\n"
            "The exit status is 1 if jobs failed or nothing that is left can go on by itself.\n"
            "With --no-wait it is 75 if all that is left must wait, or the run is active.",
        .examples = "waybill run crawl.yaml site=https://example.org\n"
                    "waybill run nightly.yaml --no-wait\n"
                    "waybill run crawl.yaml --status",
        .arguments = {{.value = {.type = VALUE_FILE, .name = "FILE"}},
                      {.value = {.type = VALUE_PARAM, .name = "KEY=VALUE|KEY:=JSON"},
                       .optional = true,
                       .repeats = true}},
        .options = {run_options},
        .run = cmd_run,
    },
    {
        .name = "list",
        .group = GROUP_JOBS,
        .help = "List jobs, newest first",
        .examples = "waybill list --queue fetch --state failed\n"
                    "waybill list --label site=example.org --all --ids",
        .options = {filter_options, list_options, server_options},
        .run = cmd_list,
    },
    {
        .name = "show",
        .group = GROUP_JOBS,
        .help = "Show everything about a job",
        .arguments = JOBS,
        .options = {server_options},
        .run = cmd_show,
    },
    {
        .name = "log",
        .group = GROUP_JOBS,
        .help = "Print the log of a job: the output of its program",
        .about = "With --follow, keep printing until the job ends, then exit with its program's\n"
                 "status.",
        .arguments = {{.value = {.type = VALUE_JOB, .name = "ID"}}},
        .options = {log_options, server_options},
        .run = cmd_log,
    },
    {
        .name = "wait",
        .group = GROUP_JOBS,
        .help = "Wait until jobs end",
        .about =
            "Exits with the status of the job's program: 128+N for signal N, 1 if it never ran or\n"
            "has no exit status.  With several jobs: 0 if all are done, otherwise 1.",
        .arguments = JOBS,
        .options = {wait_options, server_options},
        .run = cmd_wait,
    },
    {
        .name = "cancel",
        .group = GROUP_JOBS,
        .help = "Cancel jobs; a running job is stopped by its worker",
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
            "A job with steps continues at the step that failed; its record is kept.\n"
            "Jobs that were cancelled because this job failed are restored and wait for it again,\n"
            "and so are the jobs that depended on those: a failed graph continues in order.\n"
            "Retrying such a cancelled job makes it wait for its conditions again.",
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
        .help = "Submit a copy of a job and print its id",
        .arguments = JOBS,
        .options = {param_option, server_options},
        .run = cmd_act,
    },
    {
        .name = "now",
        .group = GROUP_JOBS,
        .help = "Make scheduled jobs ready immediately",
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
        .help = "Edit the params, priority, due time and labels of a waiting job",
        .about =
            "VISUAL or EDITOR names the editor.  The change is refused if the job was changed or\n"
            "started in the meantime; your text is then kept.",
        .arguments = {{.value = {.type = VALUE_JOB, .name = "ID"}}},
        .options = {server_options},
        .run = cmd_edit,
    },
    {
        .name = "rm",
        .group = GROUP_JOBS,
        .help = "Delete jobs that are not running",
        .arguments = JOBS_OR_FILTER,
        .options = {filter_options, bulk_options, server_options},
        .run = cmd_act,
    },
    NOUNS(NOUN_COMMAND){
        .name = "apply",
        .group = GROUP_QUEUES,
        .help = "Load definitions into the server and print what changes",
        .arguments = {{.value = {.type = VALUE_FILE, .name = "FILE|DIR"}, .repeats = true}},
        .options = {apply_options, server_options},
        .run = cmd_apply,
    },
    {
        .name = "serve",
        .group = GROUP_SERVER,
        .help = "Run the server and a local worker",
        .about =
            "Prints `ready http://ADDR:PORT unix:PATH` on standard output when it accepts\n"
            "requests.\n"
            "The local worker runs the commands of the queues, at most -j at a time; it is\n"
            "restarted if it dies.\n"
            "TERM or INT stops the server: running jobs have 8 s to end, then they are returned\n"
            "to their queues.  HUP reloads the definitions.",
        .examples = "waybill serve -c queues.yaml\n"
                    "waybill serve --data /srv/waybill --listen 127.0.0.1:0",
        .options = {serve_options, log_level_option},
        .run = cmd_serve,
    },
    {
        .name = "worker",
        .group = GROUP_SERVER,
        .help = "Run a worker that claims jobs from a server and runs their programs",
        .about =
            "While the server is unreachable, running jobs continue; their results are delivered\n"
            "when the server is back.\n"
            "TERM or INT stops the worker: it claims no more jobs and exits when its running jobs\n"
            "end.  A second signal stops it immediately.\n"
            "With --subscribe TOPIC the worker gets its own queue TOPIC@NAME.  Its jobs run the\n"
            "command that the worker's own file defines for queue TOPIC, or else the server's.",
        .examples =
            "waybill worker --server http://jobs.example.org:6769 -j 8\n"
            "waybill worker --server https://jobs.example.org -q render -c render.yaml --own-only\n"
            "waybill worker --server http://jobs.example.org:6769 --subscribe import_dump",
        .options = {worker_options, log_level_option},
        .run = cmd_worker,
    },
    {
        .name = "status",
        .group = GROUP_SERVER,
        .help = "Show queues, running, waiting and failed jobs, and workers on one screen",
        .options = {status_options, server_options},
        .run = cmd_status,
    },
    {
        .name = "top",
        .group = GROUP_SERVER,
        .help = "Show that screen live and browse jobs: q quits, ? lists the keys",
        .options = {status_options, server_options},
        .run = cmd_top,
    },
    {
        .name = "check",
        .group = GROUP_SERVER,
        .help = "Validate definitions; without FILE, check the server for monitoring",
        .about =
            "With FILE: reads the definitions as `serve` would, without a server, and reports all\n"
            "mistakes; the exit status is 2 if there are any.\n"
            "Without FILE: prints one line in the format of monitoring plugins; exit status 0 OK,\n"
            "1 WARNING, 2 CRITICAL, 3 UNKNOWN.\n"
            "With --store: checks the store, through the server if one is running; the exit\n"
            "status is 1 if the check finds a fault.",
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
        .help = "Make a consistent copy of the store, even while the server runs",
        .about = "DIR must be a new or empty directory on the server's machine.",
        .arguments = {{.value = {.type = VALUE_DIR, .name = "DIR"}}},
        .options = {server_options},
        .run = cmd_backup,
    },
    {
        .name = "store",
        .group = GROUP_SERVER,
        .help = "Manage the store: copy",
        .verbs = store_verbs,
    },
    {
        .name = "prune",
        .group = GROUP_SERVER,
        .help = "Delete ended jobs now instead of waiting for retention",
        .examples = "waybill prune --older 7d\n"
                    "waybill prune --queue fetch --state failed",
        .options = {filter_options, bulk_options, server_options},
        .run = cmd_prune,
    },
    {
        .name = "progress",
        .group = GROUP_IN_JOB,
        .help = "Report progress: a count, a text, or both",
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
        .help = "Create a job that becomes visible when this one is done",
        .about =
            "Describe the job with the options of `add`, or as JSON; - reads one JSON job per\n"
            "line from standard input.  If this attempt fails, the jobs it emitted are discarded,\n"
            "except those emitted with --now.",
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
        .help = "Store a value for later steps and for the job's result",
        .about = "NAME VALUE stores a text.  NAME=VALUE and NAME:=JSON may be repeated.",
        .examples = "waybill set pages 12\n"
                    "waybill set title=\"Waybill\" pages:=12",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "NAME=VALUE|NAME:=JSON"},
                       .repeats = true}},
        .run = cmd_set,
    },
    {
        .name = "step",
        .group = GROUP_IN_JOB,
        .help = "Add a step to this job's route, before its final steps",
        .about =
            "Give the step's name, or the whole step as JSON.  The name is also the queue, unless\n"
            "-q names another.  The step is added when the current step is done.",
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
        .help = "Raise a signal by N (default 1) when this attempt is done",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "NAME"}},
                      {.value = {.type = VALUE_INT, .name = "N", .min = 1, .max = SIGNAL_COUNT_MAX},
                       .optional = true}},
        .run = cmd_raise,
    },
    {
        .name = "done",
        .group = GROUP_IN_JOB,
        .help = "Report success, with an optional text; exit with 0 afterwards",
        .arguments = TEXTS("TEXT"),
        .run = cmd_end_word,
    },
    {
        .name = "fail",
        .group = GROUP_IN_JOB,
        .help = "Report a permanent failure: the job is not retried",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "TEXT"}, .repeats = true}},
        .run = cmd_end_word,
    },
    {
        .name = "resend",
        .group = GROUP_IN_JOB,
        .help = "Try the job again after D; this does not count as a failure",
        .examples = "waybill resend 10m \"the archive is being written\"",
        .arguments = {{.value = {.type = VALUE_DURATION, .name = "D"}},
                      {.value = {.type = VALUE_TEXT, .name = "WHY"},
                       .optional = true,
                       .repeats = true}},
        .run = cmd_resend,
    },
    {
        .name = "busy",
        .group = GROUP_IN_JOB,
        .help = "Shut a resource, or the job's `lane`, for D; the job goes back uncounted",
        .examples = "waybill busy search-api 5m \"429 Too Many Requests\"",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "NAME"}},
                      {.value = {.type = VALUE_DURATION, .name = "D"}},
                      {.value = {.type = VALUE_TEXT, .name = "WHY"},
                       .optional = true,
                       .repeats = true}},
        .run = cmd_busy,
    },
    {
        .name = "use",
        .group = GROUP_IN_JOB,
        .help = "Book what this attempt really used of a resource, in its rates",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "NAME"}},
                      {.value = {.type = VALUE_INT, .name = "N", .min = 0, .max = INT64_MAX}}},
        .run = cmd_use,
    },
    {
        .name = "bench",
        .group = GROUP_OTHER,
        .help = "Measure the job throughput of this machine and its disk",
        .options = {bench_options},
        .run = cmd_bench,
    },
    {
        .name = "completion",
        .group = GROUP_OTHER,
        .help = "Print the completion script for a shell",
        .examples = "source <(waybill completion bash)\n"
                    "waybill completion fish > ~/.config/fish/completions/waybill.fish",
        .arguments =
            {{.value = {.type = VALUE_CHOICE, .name = "bash|zsh|fish", .choices = shells}}},
        .run = cmd_completion,
    },
    {
        .name = "help",
        .group = GROUP_OTHER,
        .help = "Explain a verb, or list all verbs",
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
