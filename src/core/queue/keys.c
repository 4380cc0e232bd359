/* SPDX-License-Identifier: MIT */
#include "core/queue/keys.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "core/queue/def.h"
#include "core/queue/values.h"

#define LONGEST_US (10000 * US_PER_DAY)
#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

static const struct field retry_keys[] = {
    FIELD_INT("max", queue_def, retry.max, .max = RETRY_MAX_LIMIT, .standard = "0",
              .help = "Maximum number of retries after the first attempt."),
    FIELD_LENGTH("first", queue_def, retry.first_us, .max = LONGEST_US, .standard = "\"10s\"",
                 .help = "Pause before the first retry."),
    FIELD_REAL("factor", queue_def, retry.factor, .min = 1, .max = 1000, .standard = "2",
               .help = "Each further pause is the previous one times this factor."),
    FIELD_LENGTH("cap", queue_def, retry.cap_us, .max = LONGEST_US, .standard = "\"1h\"",
                 .help = "Longest pause, before jitter."),
    FIELD_REAL("jitter", queue_def, retry.jitter, .max = 1, .standard = "0.1",
               .help = "Each pause is changed at random by up to this share, up or down."),
    FIELD_CUSTOM(
        "exits", queue_exits_read, .write = queue_exits_write, .empty = true,
        .form = "map of exit statuses or ranges (%BOUNDS%) to `later` or `never`",
        .schema = "Texts", .min = 1, .max = 255, .absent = "none",
        .help = "Meaning of exit statuses: `later` retries without counting a failure (the 16th "
                "time fails the job), `never` fails the job without a retry."),
};

const struct object retry_object = {
    .what = "a retry policy", .schema = "Retry", OBJECT_FIELDS(retry_keys), .alone = "max"};

static const struct field limits_keys[] = {
    FIELD_SIZE("memory", queue_def, limits.memory, .min = 64 * KIB, .max = 1024 * TIB,
               .absent = "none", .help = "Maximum memory of a job's program."),
    FIELD_LENGTH("cpu", queue_def, limits.cpu_us, .min = US_PER_S, .max = LONGEST_US,
                 .absent = "none", .help = "Maximum processor time of a job's program."),
    FIELD_INT64("files", queue_def, limits.files, .min = 8, .max = 1048576,
                .absent = "the worker's", .help = "Maximum open files of a job's program."),
    FIELD_INT64("nice", queue_def, limits.nice, FIELD_GIVEN(queue_def, limits.niced), .min = -20,
                .max = 19, .absent = "the worker's",
                .help = "Nice value of the program; a negative value needs root."),
    FIELD_TEXT(
        "user", queue_def, limits.user, .check = queue_user_check,
        .form = "name of at most %MAX% bytes", .min = 1, .max = 256, .absent = "the worker's",
        .help = "User that runs the program; only a worker that runs as root can change it."),
};

const struct object limits_object = {.what = "limits", OBJECT_FIELDS(limits_keys)};

static const struct field keep_keys[] = {
    FIELD_LENGTH("done", queue_def, keep_done_us, .max = LONGEST_US, .standard = "\"30d\"",
                 .help = "How long done, cancelled and relayed jobs are kept."),
    FIELD_LENGTH("failed", queue_def, keep_failed_us, .max = LONGEST_US, .standard = "\"90d\"",
                 .help = "How long failed jobs are kept."),
    FIELD_SIZE("log", queue_def, keep_log, .max = 16 * GIB, .standard = "\"1M\"",
               .help = "Maximum log size of each attempt."),
};

static const struct object keep_object = {.what = "keep", OBJECT_FIELDS(keep_keys)};

static const struct field may_emit_keys[] = {
    FIELD_BOOL(
        "command", queue_def, may_emit_command, .standard = "false",
        .help =
            "Emitted jobs and added steps may contain a command. It runs as the user and under the "
            "limits of the job that emits it."),
};

static const struct object may_emit_object = {.what = "may_emit", OBJECT_FIELDS(may_emit_keys)};

static const struct field subscriber_keys[] = {
    FIELD_TEXT("topic", queue_def, subscriber_topic, .min = 1, .max = TOPIC_NAME_MAX,
               .absent = "none", .help = "The subscribed topic."),
    FIELD_TEXT("worker", queue_def, subscriber_worker, .min = 1, .max = 4 * KIB, .absent = "none",
               .help = "The worker that owns the queue."),
    FIELD_LENGTH("lifetime", queue_def, subscriber_lifetime_us, .min = US_PER_MS, .max = LONGEST_US,
                 .absent = "none", .help = "How long the worker may be absent."),
};

static const struct object subscriber_object = {.what = "subscriber",
                                                OBJECT_FIELDS(subscriber_keys)};

static const struct field root_keys[] = {
    FIELD_TEXT("description", queue_def, description, .max = 4 * KIB, .absent = "none",
               .help = "What the queue is for."),
    FIELD_CUSTOM(
        "command", queue_command_read, .write = queue_json_write,
        FIELD_OFFSET(struct slice, queue_def, command),
        .form = "text or list of texts, in all at most %MAX% bytes", .schema = "Command", .min = 1,
        .max = 64 * KIB, .absent = "none: programs elsewhere claim the jobs over HTTP",
        .help =
            "Program to run for each job: a list is the program and its arguments, a text is run "
            "by `sh -c`."),
    FIELD_TEXT("dir", queue_def, dir, .check = queue_path_check,
               .form = "absolute path of at most %MAX% bytes", .min = 1, .max = 4 * KIB,
               .absent = "the directory of the definition file",
               .help = "Base directory for a program named with a slash (`./fetch.sh`)."),
    FIELD_TEXT("workdir", queue_def, workdir, .check = queue_path_check,
               .form = "absolute path of at most %MAX% bytes", .min = 1, .max = 4 * KIB,
               .absent = "an empty directory for each job",
               .help = "Working directory of the program."),
    FIELD_CUSTOM(
        "env", queue_env_read, .write = queue_json_write,
        FIELD_OFFSET(struct slice, queue_def, env),
        .form = "map of names to texts, in all at most %MAX% bytes", .schema = "Texts",
        .max = 64 * KIB, .absent = "none",
        .help =
            "Environment variables for the program, added to those of the worker and the job. They "
            "are shown with the definition, so do not put secrets here."),
    FIELD_INT("slots", queue_def, slots, .min = 1, .max = 10000, .absent = "all of the worker's",
              .help = "Maximum jobs of the queue that run at once on one worker."),
    FIELD_LENGTH("timeout", queue_def, timeout_us, .min = US_PER_MS, .max = LONGEST_US,
                 .absent = "none",
                 .help = "Time limit of an attempt; then TERM, and KILL 10 s later."),
    FIELD_CUSTOM("expires", expires_read, .write = expires_write,
                 FIELD_OFFSET(struct expires, queue_def, expires),
                 .form = "length of time since the job was made, or an instant",
                 .schema = "{'type':['string','number']}", .absent = "never",
                 .help = "Cancel a job that has not started by then, with cause `expired`; a job's "
                         "own `expires` overrides it."),
    FIELD_MEMBERS("retry", &retry_object, .help = "When to retry a failed attempt."),
    FIELD_INT(
        "stop_after", queue_def, stop_after, .max = 1000000, .standard = "0", .absent = "0: never",
        .help = "Pause the queue after this many different jobs fail in a row. A job counts at its "
                "first failed attempt."),
    FIELD_BOOL("strict", queue_def, strict, .standard = "false",
               .help = "A program that exits with 0 but without an end word has failed."),
    FIELD_BOOL("resident", queue_def, resident, .standard = "false",
               .help = "Start the program once and send it one job per line."),
    FIELD_LENGTH("idle", queue_def, idle_us, .min = US_PER_MS, .max = LONGEST_US,
                 .standard = "\"60s\"",
                 .help = "Stop a resident program after this time without work."),
    FIELD_BOOL("own_command", queue_def, own_command, .standard = "false",
               .help = "Jobs and steps may contain their own command."),
    FIELD_MEMBERS("may_emit", &may_emit_object,
                  .help = "Extra rights of the jobs that this queue's jobs emit."),
    FIELD_MEMBERS("limits", &limits_object, .help = "Limits of a job's program."),
    FIELD_MEMBERS("keep", &keep_object,
                  .help = "How long ended jobs are kept, and how much of their logs."),
    FIELD_CUSTOM(
        "needs", queue_needs_read, .write = queue_needs_write,
        FIELD_OFFSET(struct needs, queue_def, needs),
        .form = "map of resources to weights, at most %MAX%", .schema = "Needs", .max = NEEDS_MAX,
        .absent = "none",
        .help = "What each job takes of resources while it runs: see [resources](resources.md)."),
    FIELD_CUSTOM("lane", queue_lane_read, .write = queue_lane_write,
                 FIELD_OFFSET(struct lane_def, queue_def, lane),
                 .form = "map of `key`, `limit`, `rate`", .schema = "Lane", .absent = "none",
                 .help = "Lanes: jobs with the same key share limits, and lanes take turns: see "
                         "[lanes](resources.md#lanes)."),
    FIELD_CUSTOM(
        "on_success", queue_dests_read, .write = queue_dests_write,
        FIELD_OFFSET(struct dest_list, queue_def, on_success),
        .form = "destination, or list of at most %MAX%", .schema = "Destinations", .max = DEST_MAX,
        .absent = "none",
        .help = "Where to continue when a job is done here: see [below](#where-an-end-leads)."),
    FIELD_CUSTOM("on_failure", queue_dests_read, .write = queue_dests_write,
                 FIELD_OFFSET(struct dest_list, queue_def, on_failure),
                 .form = "destination, or list of at most %MAX%", .schema = "Destinations",
                 .max = DEST_MAX, .absent = "none",
                 .help = "Where to continue when a job has failed here, after its last retry."),
    FIELD_CUSTOM(
        "subscribe", queue_topics_read, .write = queue_topics_write,
        .form = "topic, or list of at most %MAX%",
        .schema = "{'type':['string','array'],'items':{'type':'string'}}", .max = 1000,
        .absent = "the topic with the queue's name, always",
        .help =
            "Topics that create jobs here when something is published; `site.*` means all topics "
            "that begin with `site.`."),
    FIELD_CUSTOM("filters", queue_filters_read, .write = queue_filters_write,
                 FIELD_OFFSET(struct filters, queue_def, filters),
                 .form = "list of at most %MAX% filters", .schema = "QueueFilters",
                 .max = FILTERS_MAX, .absent = "none",
                 .help = "Which new jobs are kept: see [filters](filters.md)."),
    FIELD_MEMBERS("subscriber", &subscriber_object, .ours = true,
                  .help = "'waybill worker --subscribe' makes such a queue"),
};

const struct object queue_object = {.what = "a queue's definition",
                                    .schema = "QueueDefinition",
                                    OBJECT_FIELDS(root_keys),
                                    .check = queue_resident_check};
