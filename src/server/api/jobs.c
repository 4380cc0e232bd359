/* SPDX-License-Identifier: MIT */
#include "base/json/json.h"
#include "core/queue/def.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/parse/fields.h"
#include "server/parse/job_filter.h"
#include "server/parse/submit.h"
#include "server/process/parts.h"
#include "server/request/request.h"

/* ---- POST /v1/jobs ---- */

struct submit_wait {
    int64_t wait_us;
};

/* It has ended, or the time is up: show it. */
static void show_awaited(struct request *r)
{
    int64_t id = r->task.op.wait.id;

    if (r->task.op.err.code != E_OK) {
        request_answer_op(r);
        return;
    }
    request_query(r, QUERY_JOB)->id = id;
    request_read(r, NULL, NULL);
}

static void wait_for_job(struct request *r, int64_t id, int64_t wait_us)
{
    struct op *op = request_op(r, OP_WAIT);

    op->wait = (struct job_wait){.id = id, .wait_us = wait_us};
    request_run(r, show_awaited);
}

/* The job is committed: wait for its end with a second op. */
static void wait_for_submitted(struct request *r)
{
    const struct submit_wait *state = r->state;

    if (r->task.op.err.code != E_OK)
        request_answer_op(r);
    else
        wait_for_job(r, r->task.op.submit.first_id, state->wait_us);
}

static void free_state(struct request *r)
{
    free(r->state);
}

enum err_code jobs_create(struct request *r, struct err *err)
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

/* ---- GET /v1/jobs ---- */

enum err_code jobs_list(struct request *r, struct err *err)
{
    struct query *q = request_query(r, QUERY_JOBS);

    if (job_filter_from_params(r, &q->filter, &q->arena, err) != E_OK ||
        limit_from_params(r, LIST_LIMIT, &q->limit, err) != E_OK ||
        request_flag(r, "whole", &q->whole, err) != E_OK)
        return err->code;
    q->cursor = request_param(r, "cursor");
    request_read(r, NULL, NULL);
    return E_OK;
}

/* ---- GET /v1/jobs/ID ---- */

enum err_code job_show(struct request *r, struct err *err)
{
    int64_t wait_us;
    int64_t id;

    if (request_id(r, "job", &id, err) != E_OK || request_wait(r, &wait_us, err) != E_OK)
        return err->code;
    if (wait_us > 0) {
        wait_for_job(r, id, wait_us);
        return E_OK;
    }
    request_query(r, QUERY_JOB)->id = id;
    request_read(r, NULL, NULL);
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

/* What the body of each action may say; the others take none. */
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

enum err_code job_act(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_ACT);

    op->act.kind = (enum act_kind)r->route->what;
    if (request_id(r, "job", &op->act.id, err) != E_OK || read_act(r, op, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

enum err_code job_patch(struct request *r, struct err *err)
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

enum err_code job_delete(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_ACT);

    op->act.kind = ACT_DELETE;
    if (request_id(r, "job", &op->act.id, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

enum err_code job_commit(struct request *r, struct err *err)
{
    (void)r;
    return err_set(err, E_INVALID,
                   "jobs cannot be submitted in parts yet: there is nothing to commit");
}
