/* SPDX-License-Identifier: MIT */
#include "server/request/routes.h"

#include "core/object/quote.h"
#include "core/queue/def.h"
#include "engine/op.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/parse/exchange.h"
#include "server/request/reply.h"

#define WAIT_PARAM(text)       \
    {                          \
        "wait", "string", text \
    }

#define LIMIT_PARAM                                                          \
    {                                                                        \
        "limit", "integer", "At most so many, 1 to 1000; 100 when not said." \
    }
#define CURSOR_PARAM                                                          \
    {                                                                         \
        "cursor", "string", "Goes on where the reply with this cursor ended." \
    }

/* Those asked for most come first. */
static const struct route routes[] = {
    {
        .method = "POST",
        .path = "/v1/jobs",
        .handle = jobs_create,
        .right = RIGHT_USER,
        .body = BODY_JOBS,
        .max_body = BODY_ARRAY_MAX,
        .status = 201,
        .takes = "JobsToAdd",
        .gives = "Added",
        .params = {WAIT_PARAM("Answer with the whole job when it has ended, or after this time."),
                   {"dry_run", "boolean", "Tell what would be run, make nothing: 200 and a plan."}},
        .errors = {E_CONFLICT, E_UNSUPPORTED, E_QUEUE_DOWN, E_FORBIDDEN, E_FULL},
        .help = "Adds a job, an array of jobs (all or none) or NDJSON (a reply line for each).",
    },
    {
        .method = "POST",
        .path = "/v1/claim",
        .handle = worker_exchange,
        .what = EXCHANGE_CLAIM,
        .right = RIGHT_USER,
        .body = BODY_JSON,
        .max_body = BODY_ARRAY_MAX,
        .status = 200,
        .takes = "Claim",
        .gives = "Claimed",
        .errors = {E_TOO_MANY, E_FULL},
        .help =
            "Finishes and touches what is held, then claims jobs, waiting for them if asked to.",
    },
    {
        .method = "POST",
        .path = "/v1/finish",
        .handle = worker_exchange,
        .what = EXCHANGE_FINISH,
        .right = RIGHT_USER,
        .body = BODY_JSON,
        .max_body = BODY_ARRAY_MAX,
        .status = 200,
        .takes = "Finish",
        .gives = "Finished",
        .errors = {E_FULL},
        .help = "Ends claimed jobs.  The same finish again is ok.",
    },
    {
        .method = "POST",
        .path = "/v1/touch",
        .handle = worker_exchange,
        .what = EXCHANGE_TOUCH,
        .right = RIGHT_USER,
        .body = BODY_JSON,
        .max_body = BODY_ARRAY_MAX,
        .status = 200,
        .takes = "Touch",
        .gives = "Touched",
        .errors = {E_FULL},
        .help = "Extends leases and tells how far the jobs are.",
    },
    {
        .method = "POST",
        .path = "/v1/emit",
        .handle = worker_emit,
        .right = RIGHT_USER,
        .body = BODY_JSON,
        .max_body = BODY_ARRAY_MAX,
        .status = 200,
        .takes = "Emit",
        .gives = "Emitted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_STALE_LEASE, E_QUEUE_DOWN, E_FORBIDDEN, E_FULL},
        .help = "Makes jobs out of a running one, which its end releases, and saves its cursor.",
    },
    {
        .method = "GET",
        .path = "/v1/jobs",
        .handle = jobs_list,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Jobs",
        .params = {{"queue", "string", "Of this queue."},
                   {"state", "string", "In one of these states, with commas between them."},
                   {"label.*", "string", "With this label: label.NAME=VALUE."},
                   {"text", "string", "With this text in params, key, labels or status."},
                   {"since", "string", "Created since that time, or no longer ago: 2h."},
                   {"id", "string", "Whose id begins so."},
                   {"whole", "boolean", "Show values above 4 KiB whole instead of in `cut`."},
                   {"limit", "integer", "At most so many, 1 to 1000; 50 when not said."},
                   {"cursor", "string", "Goes on where the reply with this cursor ended."}},
        .errors = {E_TOO_SLOW},
        .help = "Lists jobs, newest first.  A page may be short while the cursor is not null.",
    },
    {
        .method = "GET",
        .path = "/v1/jobs/{id}",
        .handle = job_show,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Job",
        .params = {WAIT_PARAM("Answer when the job has ended, or after this time.")},
        .errors = {E_NOT_FOUND, E_TOO_MANY},
        .help = "Shows a job with its record.",
    },
    {
        .method = "PATCH",
        .path = "/v1/jobs/{id}",
        .handle = job_patch,
        .right = RIGHT_USER,
        .body = BODY_JSON,
        .max_body = JOB_BYTES_MAX,
        .status = 200,
        .takes = "Patch",
        .gives = "Acted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_PRECONDITION, E_FULL},
        .help = "Changes a job that waits; with `version`, only if it is still that one.",
    },
    {
        .method = "DELETE",
        .path = "/v1/jobs/{id}",
        .handle = job_delete,
        .right = RIGHT_ADMIN,
        .status = 200,
        .gives = "Deleted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL},
        .help = "Removes a job that does not run, with its record and log.",
    },
#define ACTION(name, kind, schema, code, text)                                                   \
    {                                                                                            \
        .method = "POST", .path = "/v1/jobs/{id}/" name, .handle = job_act, .what = (kind),      \
        .right = RIGHT_USER, .body = BODY_OPTIONAL, .max_body = JOB_BYTES_MAX, .status = (code), \
        .takes = (schema), .gives = "Acted", .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL},        \
        .help = (text)                                                                           \
    }
    ACTION("cancel", ACT_CANCEL, "Nothing", 200,
           "Cancels a job.  One that runs is cancelled by its worker: 202."),
    ACTION("retry", ACT_RETRY, "RetrySet", 200,
           "Runs an ended job again, with changed params if given, from a step if one is named."),
    ACTION("hold", ACT_HOLD, "Nothing", 200, "Holds a job that waits."),
    ACTION("release", ACT_RELEASE, "Nothing", 200, "Releases a held job."),
    ACTION("clone", ACT_CLONE, "CloneParams", 201, "Makes a new job like this one."),
    ACTION("now", ACT_NOW, "Nothing", 200, "Makes a scheduled job ready at once."),
    ACTION("move", ACT_MOVE, "MoveTo", 200, "Moves a job that waits to another queue."),
#undef ACTION
    {
        .method = "POST",
        .path = "/v1/jobs/{id}/commit",
        .handle = job_commit,
        .right = RIGHT_USER,
        .body = BODY_OPTIONAL,
        .max_body = BODY_SMALL_MAX,
        .status = 200,
        .takes = "Nothing",
        .gives = "Acted",
        .help = "For staged jobs, which are not built yet: 422.",
    },
    {
        .method = "GET",
        .path = "/v1/jobs/{id}/log",
        .handle = log_show,
        .right = RIGHT_USER,
        .status = 200,
        .type = TYPE_TEXT,
        .params = {{"follow", "boolean", "Stay, and send what comes until the job has ended."},
                   {"times", "boolean",
                    "Instead of the log, when its parts were written (offsets and instants) and "
                    "where its attempts begin (numbers and offsets), as JSON."}},
        .errors = {E_NOT_FOUND, E_RANGE, E_TOO_MANY},
        .help = "The log of a job.  Range: bytes=a-b, a- or -n is honoured.",
    },
    {
        .method = "POST",
        .path = "/v1/jobs/{id}/log",
        .handle = log_append,
        .right = RIGHT_USER,
        .body = BODY_RAW,
        .max_body = BODY_LOG_MAX,
        .status = 200,
        .gives = "LogSize",
        .params = {{"lease", "string", "The lease of the job."},
                   {"offset", "integer", "Where in the log the bytes belong."}},
        .errors = {E_NOT_FOUND, E_STALE_LEASE, E_FULL},
        .help = "Adds to the log of a claimed job.  Bytes that are there already are passed over.",
    },
    {
        .method = "POST",
        .path = "/v1/bulk",
        .handle = bulk_create,
        .right = RIGHT_ADMIN,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .status = 202,
        .takes = "BulkToDo",
        .gives = "Bulk",
        .params = {{"dry_run", "boolean", "Tell how many jobs it means, change none: 200."}},
        .errors = {E_FULL, E_TOO_SLOW},
        .help = "Does the same to many jobs, in chunks: cancel retry hold release now move delete.",
    },
    {
        .method = "GET",
        .path = "/v1/bulk",
        .handle = bulk_list,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Bulks",
        .help = "Lists bulk actions under way and those of the last day.",
    },
    {
        .method = "GET",
        .path = "/v1/bulk/{id}",
        .handle = bulk_show,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Bulk",
        .params = {WAIT_PARAM("Answer when it is done, or after this time.")},
        .errors = {E_NOT_FOUND},
        .help = "Shows a bulk action; one that is done for a day.",
    },
    {
        .method = "GET",
        .path = "/v1/queues",
        .handle = queues_list,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Queues",
        .help = "Lists the queues with their counts.",
    },
    {
        .method = "GET",
        .path = "/v1/queues/{name}",
        .handle = queue_show,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Queue",
        .errors = {E_NOT_FOUND},
        .help = "Shows a queue: state, definition, counts, oldest ready job.",
    },
    {
        .method = "PUT",
        .path = "/v1/queues/{name}",
        .handle = definition_put,
        .what = DEFINITION_QUEUE,
        .right = RIGHT_ADMIN,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .status = 200,
        .takes = "QueueDefinition",
        .gives = "Changes",
        .errors = {E_FULL},
        .help = "Defines a queue.  201 when it is new.",
    },
    {
        .method = "DELETE",
        .path = "/v1/queues/{name}",
        .handle = definition_remove,
        .what = DEFINITION_QUEUE,
        .right = RIGHT_ADMIN,
        .status = 200,
        .gives = "QueueDeleted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL},
        .help = "Removes a queue that has no jobs.",
    },
#define STATE(name, state, text)                                                                   \
    {                                                                                              \
        .method = "POST", .path = "/v1/queues/{name}/" name, .handle = queue_put_state,            \
        .what = (state), .right = RIGHT_ADMIN, .body = BODY_OPTIONAL, .max_body = BODY_SMALL_MAX,  \
        .status = 200, .takes = "Nothing", .gives = "QueueState", .errors = {E_NOT_FOUND, E_FULL}, \
        .help = (text)                                                                             \
    }
    {
        .method = "POST",
        .path = "/v1/queues/{name}/restart",
        .handle = queue_restart,
        .right = RIGHT_ADMIN,
        .body = BODY_OPTIONAL,
        .max_body = BODY_SMALL_MAX,
        .status = 200,
        .takes = "Nothing",
        .gives = "QueueRestarted",
        .errors = {E_NOT_FOUND, E_FULL},
        .help = "Workers hand its running jobs back, uncounted, and start its programs anew.",
    },
    {
        .method = "GET",
        .path = "/v1/queues/{name}/log",
        .handle = queue_log,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "QueueLog",
        .params = {{"limit", "integer", "At most so many lines, 1 to 1000; 100 when not said."}},
        .errors = {E_NOT_FOUND},
        .help = "What happened to a queue, the newest first: states, failures, where it is broken.",
    },
    STATE("pause", QUEUE_PAUSE, "Takes jobs, starts none."),
    STATE("resume", QUEUE_UP, "Takes and starts jobs: the same as up."),
    STATE("drain", QUEUE_DRAIN, "Refuses jobs, starts what is there."),
    STATE("down", QUEUE_DOWN, "Refuses jobs, starts none."),
    STATE("up", QUEUE_UP, "Takes and starts jobs."),
#undef STATE
    {
        .method = "POST",
        .path = "/v1/definitions",
        .handle = definitions_apply,
        .right = RIGHT_ADMIN,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .status = 200,
        .takes = "Definitions",
        .gives = "Changes",
        .params = {{"prune", "boolean",
                    "Remove joins that are not in it, and queues that have no jobs."},
                   {"dry_run", "boolean", "Tell what would change, change nothing."}},
        .errors = {E_FULL},
        .help = "Puts definitions into the store.",
    },
    {
        .method = "GET",
        .path = "/job_start",
        .handle = job_start,
        .starts = true,
        .right = RIGHT_USER,
        .status = 202,
        .gives = "Published",
        .params = {{"job_name", "string", "The topic to publish to."},
                   {"*", "string", "Any other: a param of the jobs."}},
        .errors = {E_NOT_FOUND, E_CONFLICT, E_QUEUE_DOWN, E_FULL},
        .help = "Publishes to a topic: a job in every subscribed queue.",
    },
    {
        .method = "GET",
        .path = "/v1/topics",
        .handle = topics_list,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Topics",
        .help = "Lists the topics with the queues that are subscribed to them.",
    },
    {
        .method = "GET",
        .path = "/v1/topics/{name}",
        .handle = topic_show,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Topic",
        .errors = {E_NOT_FOUND},
        .help = "Shows who would get what is published to a topic.",
    },
    {
        .method = "POST",
        .path = "/v1/topics/{name}",
        .handle = topic_publish_to,
        .right = RIGHT_USER,
        .body = BODY_OPTIONAL,
        .max_body = JOB_BYTES_MAX,
        .status = 202,
        .takes = "Publish",
        .gives = "Published",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_QUEUE_DOWN, E_FULL},
        .help = "Publishes to a topic: a job in every subscribed queue.",
    },
    {
        .method = "POST",
        .path = "/v1/topics/{name}/subscribe",
        .handle = topic_subscribe,
        .right = RIGHT_USER,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .status = 200,
        .takes = "Subscribe",
        .gives = "Subscribed",
        .errors = {E_CONFLICT, E_FULL},
        .help =
            "Gives a worker a durable queue of its own of a topic, or renews it.  201 when new.",
    },
    {
        .method = "GET",
        .path = "/v1/signals",
        .handle = signals_list,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Signals",
        .params = {LIMIT_PARAM, CURSOR_PARAM},
        .help = "Lists the signals by name, with how many jobs wait for each.",
    },
    {
        .method = "GET",
        .path = "/v1/signals/{name}",
        .handle = signal_show,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Signal",
        .help = "Shows a signal and the first of those that wait for it.",
    },
    {
        .method = "POST",
        .path = "/v1/signals/{name}",
        .handle = signal_add,
        .right = RIGHT_USER,
        .body = BODY_OPTIONAL,
        .max_body = BODY_SMALL_MAX,
        .status = 200,
        .takes = "Raise",
        .gives = "SignalLevel",
        .errors = {E_CONFLICT, E_FULL},
        .help = "Raises a signal.",
    },
    {
        .method = "DELETE",
        .path = "/v1/signals/{name}",
        .handle = signal_clear,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "SignalLevel",
        .errors = {E_FULL},
        .help = "Clears a signal: it is at 0 again.",
    },
    {
        .method = "GET",
        .path = "/v1/joins",
        .handle = joins_list,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Joins",
        .params = {LIMIT_PARAM, CURSOR_PARAM},
        .help = "Lists the joins by name.",
    },
    {
        .method = "GET",
        .path = "/v1/joins/{name}",
        .handle = join_show,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Join",
        .params = {LIMIT_PARAM, CURSOR_PARAM},
        .errors = {E_NOT_FOUND},
        .help = "Shows a join and what has arrived, by key.",
    },
    {
        .method = "POST",
        .path = "/v1/joins/{name}",
        .handle = join_add,
        .right = RIGHT_USER,
        .body = BODY_OPTIONAL,
        .max_body = JOB_BYTES_MAX,
        .status = 200,
        .takes = "Arrive",
        .gives = "Arrived",
        .errors = {E_NOT_FOUND, E_FULL},
        .help = "Arrives at a join.",
    },
    {
        .method = "DELETE",
        .path = "/v1/joins/{name}",
        .handle = join_clear,
        .right = RIGHT_ADMIN,
        .status = 200,
        .gives = "JoinCleared",
        .params = {{"key", "string", "Only what has arrived with this key."}},
        .errors = {E_NOT_FOUND, E_FULL},
        .help = "Forgets what has arrived at a join since it fired last.",
    },
    {
        .method = "GET",
        .path = "/v1/workers",
        .handle = workers_list,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Workers",
        .help = "Lists the workers that were seen lately.",
    },
    {
        .method = "GET",
        .path = "/v1/counts",
        .handle = counts_show,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Counts",
        .help = "Counts of jobs by queue and state.",
    },
    {
        .method = "GET",
        .path = "/v1/server",
        .handle = server_show,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Server",
        .help = "What is running, since when, over which store.",
    },
    {
        .method = "GET",
        .path = "/v1/events",
        .handle = events_subscribe,
        .right = RIGHT_USER,
        .status = 200,
        .type = TYPE_EVENTS,
        .params = {{"queue", "string", "Of this queue."}},
        .errors = {E_TOO_MANY},
        .help = "What happens, as server-sent events: `job` and `queue`.",
    },
    {
        .method = "GET",
        .path = "/v1/openapi.json",
        .handle = openapi_show,
        .right = RIGHT_USER,
        .status = 200,
        .gives = "Anything",
        .help = "This description.",
    },
    {
        .method = "POST",
        .path = "/v1/backup",
        .handle = backup_make,
        .right = RIGHT_ADMIN,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .status = 200,
        .takes = "BackupTo",
        .gives = "BackedUp",
        .errors = {E_CONFLICT, E_FULL},
        .help = "Copies the running store into a directory of the server's machine.",
    },
    {
        .method = "POST",
        .path = "/v1/check",
        .handle = check_run,
        .right = RIGHT_ADMIN,
        .body = BODY_OPTIONAL,
        .max_body = BODY_SMALL_MAX,
        .status = 200,
        .takes = "CheckHow",
        .gives = "Checked",
        .help = "Checks the store; with full also its counts and invariants.",
    },
    {
        .method = "GET",
        .path = "/metrics",
        .handle = metrics_show,
        .right = RIGHT_USER,
        .status = 200,
        .type = TYPE_METRICS,
        .help = "Figures in the text form of Prometheus.",
    },
    {
        .method = "GET",
        .path = "/healthz",
        .handle = health_show,
        .right = RIGHT_OPEN,
        .status = 200,
        .type = TYPE_TEXT,
        .help = "The process is there.",
    },
    {
        .method = "GET",
        .path = "/readyz",
        .handle = ready_show,
        .right = RIGHT_OPEN,
        .status = 200,
        .type = TYPE_TEXT,
        .help =
            "It can take requests; 503 while it starts or stops, or when the last commit failed.",
    },
};

const struct route *routes_table(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(routes);
    return routes;
}

/* {name} matches one segment that is not empty. */
static bool path_matches(const char *pattern, struct slice path, struct slice args[ROUTE_ARGS_MAX])
{
    const char *at = path.data;
    const char *end = path.data + path.size;
    size_t n_args = 0;

    for (const char *p = pattern; *p != '\0';) {
        if (*p != '{') {
            if (at == end || *at++ != *p++)
                return false;
            continue;
        }
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const char *segment_end = slash == NULL ? end : slash;

        if (segment_end == at || n_args == ROUTE_ARGS_MAX)
            return false;
        args[n_args++] = slice_make(at, (size_t)(segment_end - at));
        at = segment_end;
        p = strchr(p, '}') + 1;
    }
    return at == end;
}

static void add_method(struct buf *allow, const struct route *route)
{
    if (strstr(buf_text(allow), route->method) != NULL)
        return;
    buf_addf(allow, "%s%s%s", allow->size > 0 ? ", " : "", route->method,
             strcmp(route->method, "GET") == 0 && !route->starts ? ", HEAD" : "");
}

static bool method_is(const struct route *route, struct slice method)
{
    if (slice_is(method, "HEAD"))
        return strcmp(route->method, "GET") == 0 && !route->starts;
    return slice_is(method, route->method);
}

enum err_code routes_match(struct slice method, struct slice path, struct route_match *ret_match,
                           struct buf *allow, struct err *err)
{
    struct quote quote;

    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        struct slice args[ROUTE_ARGS_MAX] = {{NULL, 0}};

        if (!path_matches(routes[i].path, path, args))
            continue;
        if (method_is(&routes[i], method)) {
            ret_match->route = &routes[i];
            memcpy(ret_match->args, args, sizeof(args));
            return E_OK;
        }
        add_method(allow, &routes[i]);
    }
    if (allow->size > 0)
        return err_set(err, E_METHOD, "%s takes %s here", quote_text(&quote, path),
                       buf_text(allow));
    return err_set(err, E_NOT_FOUND,
                   "there is nothing at %s: /v1/openapi.json describes what there is",
                   quote_text(&quote, path));
}
