/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/object/object.h"
#include "core/queue/def.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/parse/submit.h"
#include "server/process/server_state.h"
#include "server/request/reply.h"
#include "server/request/request.h"

/* ---- POST /v1/jobs ---- */

struct submit_wait {
    int64_t wait_us;
};

/* The job is committed: wait for its end with a second op. */
static void wait_for_submitted(struct request *r)
{
    const struct submit_wait *state = r->state;

    if (r->change.op.err.code != E_OK)
        request_answer_op(r);
    else
        view_show_ended(r, r->change.op.submit.first_id, state->wait_us);
}

static void free_state(struct request *r)
{
    free(r->state);
}

static enum err_code jobs_create(struct request *r, struct err *err)
{
    struct submit_source source = {.no_commands = no_commands(r->right),
                                   .key = r->headers.idempotency_key};
    int64_t wait_us;

    if (r->lines)
        return jobs_create_lines(r, err);
    if (request_wait(r, &wait_us, err) != E_OK)
        return err->code;
    struct op *op = request_op(r, OP_SUBMIT);

    if (request_flag(r, "dry_run", &op->submit.dry_run, err) != E_OK)
        return err->code;
    if (wait_us > 0 && op->submit.dry_run)
        return err_set(err, E_INVALID, "wait: there is no job to wait for with dry_run");
    if (parse_submit(buf_slice(&r->body), &source, &op->arena, &op->submit, err) != E_OK)
        return err->code;
    if (wait_us == 0) {
        request_run(r, NULL);
        return E_OK;
    }
    if (op->submit.mode != SUBMIT_ONE)
        return err_set(err, E_INVALID, "wait: is for one job, not for an array");
    struct submit_wait *state = mem_zalloc(sizeof(*state));

    state->wait_us = wait_us;
    r->state = state;
    r->cleanup = free_state;
    request_run(r, wait_for_submitted);
    return E_OK;
}

/* ---- POST /v1/jobs/ID/ACTION ---- */

/* null: it is due at once. */
static enum err_code read_due_at(struct object_read *r, const struct field *f, struct slice value)
{
    static const struct field time = FIELD_TIME("due_at", job_action, due_at, .null = true);

    (void)f;
    return jtext_type_of(value) == JTEXT_NULL ? E_OK : field_read(r, &time, value);
}

/* The number of a step, or its name. */
static enum err_code read_from(struct object_read *r, const struct field *f, struct slice value)
{
    struct job_action *act = r->to;
    bool number = jtext_type_of(value) == JTEXT_INT && jtext_int(value) >= 1 &&
                  jtext_int(value) <= STEP_NUMBER_MAX;

    (void)f;
    act->from = number ? value : jtext_text(value, r->arena); /* empty: no text */
    if (act->from.size == 0 || act->from.size > STEP_NAME_MAX)
        return object_must_be(r, "the number or the name of a step", value);
    return E_OK;
}

static const struct field retry_fields[] = {
    FIELD_BOOL("alone", job_action, alone, .null = true,
               .help = "Without waiting for its conditions again."),
    FIELD_OBJECT("params", job_action, params, .null = true, .other = "set", .schema = "Params",
                 .help = "Laid over the job's."),
    FIELD_CUSTOM("from", read_from, .null = true, .schema = "{'type':['integer','string']}",
                 .help = "The number or the name of a step (default: where it failed)."),
};
static const struct field clone_fields[] = {
    FIELD_OBJECT("params", job_action, params, .null = true, .schema = "Params",
                 .help = "Laid over the job's."),
};
static const struct field move_fields[] = {
    FIELD_TEXT("queue", job_action, queue, .required = true, .min = 1, .max = QUEUE_NAME_MAX,
               .help = "where the job goes"),
};
static const struct field patch_fields[] = {
    FIELD_CUSTOM("due_at", read_due_at, FIELD_GIVEN(job_action, has_due), .schema = "Time",
                 .help = "null: at once."),
    FIELD_INT("priority", job_action, priority, FIELD_GIVEN(job_action, has_priority),
              .min = JOB_PRIORITY_MIN, .max = JOB_PRIORITY_MAX),
    FIELD_OBJECT("params", job_action, params, .schema = "Params", .help = "Instead of the job's."),
    FIELD_CUSTOM("labels", labels_read, FIELD_OFFSET(struct slice, job_action, labels),
                 .schema = "Labels"),
    FIELD_ROW("queue", FIELD_T_UNBUILT, .help = "a job is moved with POST /v1/jobs/ID/move"),
    FIELD_TEXT("version", job_action, version, .min = 1, .max = JOB_VERSION_SIZE,
               .help = "Only while the job's is this."),
};

static const struct object nothing_object = {.what = "the body"};
static const struct object retry_act_object = {.what = "the body",
                                               .schema = "RetrySet",
                                               OBJECT_FIELDS(retry_fields)};
static const struct object clone_object = {.what = "the body",
                                           .schema = "CloneParams",
                                           OBJECT_FIELDS(clone_fields)};
static const struct object move_object = {
    .what = "the body", .schema = "MoveTo", OBJECT_FIELDS(move_fields), .needs = true};
static const struct object patch_object = {.what = "the body",
                                           .schema = "Patch",
                                           OBJECT_FIELDS(patch_fields)};

static enum err_code read_act(struct request *r, struct op *op, struct err *err)
{
    struct job_action *act = &op->action;
    const struct object *table = r->route->reads;

    act->may_command = r->right == RIGHT_ADMIN;
    return request_body(r, table == NULL ? &nothing_object : table, act, &op->arena, err);
}

static enum err_code job_act(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_ACTION);

    op->action.kind = (enum job_action_kind)r->route->what;
    if (request_id(r, "job", &op->action.id, err) != E_OK || read_act(r, op, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

static enum err_code job_patch(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_ACTION);
    struct job_action *act = &op->action;

    act->kind = ACTION_PATCH;
    if (request_id(r, "job", &act->id, err) != E_OK || read_act(r, op, err) != E_OK)
        return err->code;
    if (!act->has_due && !act->has_priority && act->params.size == 0 && act->labels.size == 0)
        return err_set(err, E_INVALID,
                       "nothing to change: give due_at, priority, params or labels");
    request_run(r, NULL);
    return E_OK;
}

static enum err_code job_delete(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_ACTION);

    op->action.kind = ACTION_DELETE;
    if (request_id(r, "job", &op->action.id, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

static enum err_code job_commit(struct request *r, struct err *err)
{
    (void)r;
    return err_set(err, E_INVALID,
                   "jobs cannot be submitted in parts yet: there is nothing to commit");
}

/* ---- routes ---- */

#define ACTION(name, act, table, code, text)                                                    \
    {                                                                                           \
        ROUTE("POST", "/v1/jobs/{id}/" name, RIGHT_USER),                                       \
            .handle = job_act, .what = (act), .body = BODY_OPTIONAL, .max_body = JOB_BYTES_MAX, \
            .status = (code), .reads = (table), .takes = "Nothing", .gives = "Acted",           \
            .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL}, .help = (text)                         \
    }

static const struct route jobs_rows[] = {
    {
        ROUTE("POST", "/v1/jobs", RIGHT_USER),
        .handle = jobs_create,
        .view = {QUERY_JOB}, /* with ?wait */
        .body = BODY_JOBS,
        .max_body = BODY_ARRAY_MAX,
        .status = 201,
        .takes = "JobsToAdd",
        .gives = "Added",
        .params = {WAIT_PARAM("Answer with the whole job when it has ended, or after this time."),
                   {"dry_run", "boolean", "Add nothing, answer 200 with the plan."}},
        .errors = {E_CONFLICT, E_UNSUPPORTED, E_QUEUE_DOWN, E_FORBIDDEN, E_FULL},
        .help = "Adds a job, an array of jobs (all or none) or NDJSON (a reply line for each).",
    },
    {
        ROUTE_VIEW("/v1/jobs", QUERY_JOBS, .limit = LIST_LIMIT, .filters = true),
        .gives = "Jobs",
        .params = {{"queue", "string", "Only this queue."},
                   {"state", "string", "Only jobs in one of these states, separated by commas."},
                   {"label.*", "string", "Only jobs with this label: label.NAME=VALUE."},
                   {"text", "string",
                    "Only jobs with this text in params, command, key, labels or status."},
                   {"since", "string",
                    "Only jobs created since this instant, or within this length: 2h."},
                   {"id", "string", "Only jobs whose id begins with this."},
                   {"group", "string", "Only members of this group."},
                   {"whole", "boolean", "Show values above 4 KiB whole instead of in `cut`."},
                   {"limit", "integer", "Maximum items, 1 to 1000 (default 50)."},
                   {"cursor", "string", "Continues after the reply that had this cursor."}},
        .errors = {E_TOO_SLOW},
        .help = "Lists jobs, newest first.  A page may be short while the cursor is not null.",
    },
    {
        ROUTE_VIEW("/v1/jobs/{id}", QUERY_JOB, .id_of = "job"),
        .gives = "Job",
        .params = {WAIT_PARAM("Answer when the job has ended, or after this time.")},
        .errors = {E_NOT_FOUND, E_TOO_MANY},
        .help = "Shows a job with its record.",
    },
    {
        ROUTE("PATCH", "/v1/jobs/{id}", RIGHT_USER),
        .handle = job_patch,
        .body = BODY_JSON,
        .max_body = JOB_BYTES_MAX,
        .reads = &patch_object,
        .gives = "Acted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_PRECONDITION, E_FULL},
        .help = "Changes a waiting job; with `version` only if it has not changed since.",
    },
    {
        ROUTE("DELETE", "/v1/jobs/{id}", RIGHT_ADMIN),
        .handle = job_delete,
        .gives = "Deleted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL},
        .help = "Removes a job that is not running, with its record and log.",
    },
    ACTION("cancel", ACTION_CANCEL, NULL, 200,
           "Cancels a job.  A running one is stopped by its worker: 202."),
    ACTION("retry", ACTION_RETRY, &retry_act_object, 200,
           "Runs an ended job again, with changed params if given, from a step if one is named."),
    ACTION("hold", ACTION_HOLD, NULL, 200, "Holds a waiting job."),
    ACTION("release", ACTION_RELEASE, NULL, 200, "Releases a held job."),
    ACTION("clone", ACTION_CLONE, &clone_object, 201, "Makes a new job like this one."),
    ACTION("now", ACTION_NOW, NULL, 200, "Makes a scheduled job ready at once."),
    ACTION("move", ACTION_MOVE, &move_object, 200, "Moves a waiting job to another queue."),
    {
        ROUTE("POST", "/v1/jobs/{id}/commit", RIGHT_USER),
        .handle = job_commit,
        .body = BODY_OPTIONAL,
        .max_body = BODY_SMALL_MAX,
        .takes = "Nothing",
        .gives = "Acted",
        .help = "Not supported yet: 422.",
    },
    {
        ROUTE("GET", "/v1/jobs/{id}/log", RIGHT_USER),
        .handle = log_show,
        .type = TYPE_TEXT,
        .params = {{"follow", "boolean",
                    "Stay connected and send new output until the job has ended."},
                   {"times", "boolean",
                    "Instead of the log, when its parts were written (offsets and instants) and "
                    "where its attempts begin (numbers and offsets), as JSON."}},
        .errors = {E_NOT_FOUND, E_RANGE, E_TOO_MANY},
        .help = "The log of a job.  Range: bytes=a-b, a- or -n is honoured.",
    },
    {
        ROUTE("POST", "/v1/jobs/{id}/log", RIGHT_USER),
        .handle = log_append,
        .body = BODY_RAW,
        .max_body = BODY_LOG_MAX,
        .gives = "LogSize",
        .params = {{"lease", "string", "The lease of the job."},
                   {"offset", "integer", "Where in the log the bytes belong."}},
        .errors = {E_NOT_FOUND, E_STALE_LEASE, E_FULL},
        .help = "Adds to the log of a claimed job.  Bytes that the log already has are skipped.",
    },
};

const struct route_table jobs_routes = ROUTE_TABLE(jobs_rows);
