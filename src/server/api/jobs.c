/* SPDX-License-Identifier: MIT */
#include "base/json/json.h"
#include "core/queue/def.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/parse/fields.h"
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
    struct submit_source source = {.right = r->right, .key = r->headers.idempotency_key};
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

static enum err_code act_params(struct field_reader *r, struct slice value)
{
    return field_object(r, value, &((struct act *)r->to)->params);
}

static enum err_code act_queue(struct field_reader *r, struct slice value)
{
    return field_text(r, value, 1, QUEUE_NAME_MAX, &((struct act *)r->to)->queue);
}

static enum err_code act_labels(struct field_reader *r, struct slice value)
{
    if (labels_check(value, r->arena, r->err) != E_OK)
        return r->err->code;
    ((struct act *)r->to)->labels = value;
    return E_OK;
}

static enum err_code act_priority(struct field_reader *r, struct slice value)
{
    struct act *act = r->to;
    int64_t priority;

    if (field_int(r, value, JOB_PRIORITY_MIN, JOB_PRIORITY_MAX, &priority) != E_OK)
        return r->err->code;
    act->has_priority = true;
    act->priority = (int)priority;
    return E_OK;
}

/* null: it is due at once. */
static enum err_code act_due_at(struct field_reader *r, struct slice value)
{
    struct act *act = r->to;

    act->has_due = true;
    if (json_type_of(value) == JSON_T_NULL)
        return E_OK;
    return field_time(r, value, &act->due_at);
}

static enum err_code patch_version(struct field_reader *r, struct slice value)
{
    return field_text(r, value, 1, JOB_VERSION_SIZE, &((struct act *)r->to)->version);
}

static enum err_code patch_queue(struct field_reader *r, struct slice value)
{
    (void)value;
    return err_set(r->err, E_INVALID, "queue: a job is moved with POST /v1/jobs/ID/move");
}

/* `set` and `params` are the same. */
static enum err_code retry_params(struct field_reader *r, struct slice value)
{
    if (((struct act *)r->to)->params.size > 0)
        return err_set(r->err, E_INVALID, "set and params exclude each other");
    return act_params(r, value);
}

/* The number of a step, or its name. */
static enum err_code retry_from(struct field_reader *r, struct slice value)
{
    struct act *act = r->to;
    int64_t number;

    if (json_type_of(value) == JSON_T_STRING)
        return field_text(r, value, 1, STEP_NAME_MAX, &act->from);
    if (json_type_of(value) != JSON_T_INT)
        return field_refuse(r, "the number or the name of a step", value);
    act->from = value;
    return field_int(r, value, 1, STEP_NUMBER_MAX, &number);
}

static enum err_code retry_alone(struct field_reader *r, struct slice value)
{
    return field_bool(r, value, &((struct act *)r->to)->alone);
}

static const struct field retry_fields[] = {{FIELD("alone"), .read = retry_alone, .null = true},
                                            {FIELD("set"), .read = retry_params, .null = true},
                                            {FIELD("params"), .read = retry_params, .null = true},
                                            {FIELD("from"), .read = retry_from, .null = true}};
static const struct field clone_fields[] = {{FIELD("params"), .read = act_params, .null = true}};
static const struct field move_fields[] = {{FIELD("queue"), .read = act_queue}};
static const struct field patch_fields[] = {
    {FIELD("due_at"), .read = act_due_at}, {FIELD("priority"), .read = act_priority},
    {FIELD("params"), .read = act_params}, {FIELD("labels"), .read = act_labels},
    {FIELD("queue"), .read = patch_queue}, {FIELD("version"), .read = patch_version},
};

/* Fields of the body of each action; the others take none. */
static const struct {
    const struct field *fields;
    size_t n_fields;
} act_bodies[ACT_COUNT] = {
    [ACT_RETRY] = {retry_fields, ARRAY_LEN(retry_fields)},
    [ACT_CLONE] = {clone_fields, ARRAY_LEN(clone_fields)},
    [ACT_MOVE] = {move_fields, ARRAY_LEN(move_fields)},
    [ACT_PATCH] = {patch_fields, ARRAY_LEN(patch_fields)},
};

static enum err_code read_act(struct request *r, struct op *op, struct err *err)
{
    struct act *act = &op->act;
    struct field_reader reader = {.fields = act_bodies[act->kind].fields,
                                  .n_fields = act_bodies[act->kind].n_fields,
                                  .what = "the body",
                                  .arena = &op->arena,
                                  .err = err,
                                  .to = act};
    struct slice object;

    act->may_command = r->right == RIGHT_ADMIN;
    if (request_object(r, &object, err) != E_OK || fields_read(&reader, object) != E_OK)
        return err->code;
    if (act->kind == ACT_MOVE && act->queue.size == 0)
        return err_set(err, E_INVALID, "the body needs a 'queue': where the job goes");
    return E_OK;
}

static enum err_code job_act(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_ACT);

    op->act.kind = (enum act_kind)r->route->what;
    if (request_id(r, "job", &op->act.id, err) != E_OK || read_act(r, op, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

static enum err_code job_patch(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_ACT);
    struct act *act = &op->act;

    act->kind = ACT_PATCH;
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
    struct op *op = request_op(r, OP_ACT);

    op->act.kind = ACT_DELETE;
    if (request_id(r, "job", &op->act.id, err) != E_OK)
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

#define ACTION(name, act, schema, code, text)                                                   \
    {                                                                                           \
        ROUTE("POST", "/v1/jobs/{id}/" name, RIGHT_USER),                                       \
            .handle = job_act, .what = (act), .body = BODY_OPTIONAL, .max_body = JOB_BYTES_MAX, \
            .status = (code), .takes = (schema), .gives = "Acted",                              \
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
        ROUTE("GET", "/v1/jobs", RIGHT_USER),
        .handle = view_show,
        .view = {QUERY_JOBS, .limit = LIST_LIMIT, .filters = true},
        .status = 200,
        .gives = "Jobs",
        .params = {{"queue", "string", "Only this queue."},
                   {"state", "string", "Only jobs in one of these states, separated by commas."},
                   {"label.*", "string", "Only jobs with this label: label.NAME=VALUE."},
                   {"text", "string", "Only jobs with this text in params, key, labels or status."},
                   {"since", "string",
                    "Only jobs created since this instant, or within this length: 2h."},
                   {"id", "string", "Only jobs whose id begins with this."},
                   {"whole", "boolean", "Show values above 4 KiB whole instead of in `cut`."},
                   {"limit", "integer", "Maximum items, 1 to 1000 (default 50)."},
                   {"cursor", "string", "Continues after the reply that had this cursor."}},
        .errors = {E_TOO_SLOW},
        .help = "Lists jobs, newest first.  A page may be short while the cursor is not null.",
    },
    {
        ROUTE("GET", "/v1/jobs/{id}", RIGHT_USER),
        .handle = view_show,
        .view = {QUERY_JOB, .id_of = "job"},
        .status = 200,
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
        .status = 200,
        .takes = "Patch",
        .gives = "Acted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_PRECONDITION, E_FULL},
        .help = "Changes a waiting job; with `version` only if it has not changed since.",
    },
    {
        ROUTE("DELETE", "/v1/jobs/{id}", RIGHT_ADMIN),
        .handle = job_delete,
        .status = 200,
        .gives = "Deleted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL},
        .help = "Removes a job that is not running, with its record and log.",
    },
    ACTION("cancel", ACT_CANCEL, "Nothing", 200,
           "Cancels a job.  A running one is stopped by its worker: 202."),
    ACTION("retry", ACT_RETRY, "RetrySet", 200,
           "Runs an ended job again, with changed params if given, from a step if one is named."),
    ACTION("hold", ACT_HOLD, "Nothing", 200, "Holds a waiting job."),
    ACTION("release", ACT_RELEASE, "Nothing", 200, "Releases a held job."),
    ACTION("clone", ACT_CLONE, "CloneParams", 201, "Makes a new job like this one."),
    ACTION("now", ACT_NOW, "Nothing", 200, "Makes a scheduled job ready at once."),
    ACTION("move", ACT_MOVE, "MoveTo", 200, "Moves a waiting job to another queue."),
    {
        ROUTE("POST", "/v1/jobs/{id}/commit", RIGHT_USER),
        .handle = job_commit,
        .body = BODY_OPTIONAL,
        .max_body = BODY_SMALL_MAX,
        .status = 200,
        .takes = "Nothing",
        .gives = "Acted",
        .help = "Not supported yet: 422.",
    },
    {
        ROUTE("GET", "/v1/jobs/{id}/log", RIGHT_USER),
        .handle = log_show,
        .status = 200,
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
        .status = 200,
        .gives = "LogSize",
        .params = {{"lease", "string", "The lease of the job."},
                   {"offset", "integer", "Where in the log the bytes belong."}},
        .errors = {E_NOT_FOUND, E_STALE_LEASE, E_FULL},
        .help = "Adds to the log of a claimed job.  Bytes that the log already has are skipped.",
    },
};

const struct route_table jobs_routes = ROUTE_TABLE(jobs_rows);
