/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/queue/def.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/parse/job_filter.h"
#include "server/process/server_state.h"
#include "server/request/request.h"

/* ---- POST /v1/bulk ---- */

/* Those of jobs that can be done to many. */
static const char *const action_names[] = {"cancel", "retry", "hold",  "release",
                                           "now",    "move",  "delete"};
static const enum job_action_kind action_kinds[] = {ACTION_CANCEL,  ACTION_RETRY, ACTION_HOLD,
                                                    ACTION_RELEASE, ACTION_NOW,   ACTION_MOVE,
                                                    ACTION_DELETE};

struct bulk_values {
    struct bulk bulk;
    unsigned action;
};

static enum err_code read_filter(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    return object_read_in(r, &filter_object, value, &((struct bulk_values *)r->to)->bulk.filter);
}

static const struct field bulk_fields[] = {
    FIELD_WORD("action", bulk_values, action, .required = true, .words = action_names,
               .max = ARRAY_LEN(action_names) - 1, .help = "what to do"),
    FIELD_CUSTOM("filter", read_filter, .required = true, .schema = "Filter",
                 .help = "say which jobs"),
    FIELD_TEXT("queue", bulk_values, bulk.queue, .null = true, .min = 1, .max = QUEUE_NAME_MAX,
               .help = "Target queue of `move`."),
    FIELD_BOOL("alone", bulk_values, bulk.alone, .null = true,
               .help = "For `retry`: does not wait for the conditions again."),
};

static enum err_code check_bulk(struct object_read *r, struct slice value)
{
    struct bulk_values *v = r->to;

    (void)value;
    v->bulk.kind = action_kinds[v->action];
    if (v->bulk.kind == ACTION_MOVE && v->bulk.queue.size == 0)
        return err_set(r->err, E_INVALID, "move: the body needs a 'queue': where the jobs go");
    return E_OK;
}

static const struct object bulk_object = {.what = "the body",
                                          .schema = "BulkToDo",
                                          OBJECT_FIELDS(bulk_fields),
                                          .needs = true,
                                          .check = check_bulk};

static enum err_code read_bulk(struct request *r, struct arena *arena, struct bulk *ret_bulk,
                               struct err *err)
{
    struct bulk_values values = {.action = 0};
    int64_t now_at = clock_wall_us();
    struct object_read read = {.to = &values, .arena = arena, .err = err, .with = &now_at};
    struct slice object;

    if (request_object(r, &object, err) != E_OK || object_read(&read, &bulk_object, object) != E_OK)
        return err->code;
    *ret_bulk = values.bulk;
    return E_OK;
}

static enum err_code bulk_create(struct request *r, struct err *err)
{
    bool dry_run = false;

    if (request_flag(r, "dry_run", &dry_run, err) != E_OK)
        return err->code;
    if (dry_run) {
        /* Reads what it would do and changes nothing. */
        struct query *q = request_query(r, QUERY_PLAN);
        struct bulk bulk = {.kind = ACTION_CANCEL};

        if (read_bulk(r, &q->arena, &bulk, err) != E_OK)
            return err->code;
        q->action = bulk.kind;
        q->filter = bulk.filter;
        q->name = bulk.queue;
        request_read(r, NULL, NULL);
        return E_OK;
    }
    struct op *op = request_op(r, OP_BULK);

    if (read_bulk(r, &op->arena, &op->bulk, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

/* ---- routes ---- */

static const struct route bulk_rows[] = {
    {
        ROUTE("POST", "/v1/bulk", RIGHT_ADMIN),
        .handle = bulk_create,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .status = 202,
        .reads = &bulk_object,
        .gives = "Bulk",
        .params = {{"dry_run", "boolean", "Change nothing, answer 200 with the number of jobs."}},
        .errors = {E_FULL, E_TOO_SLOW},
        .help = "Applies one action to many jobs: cancel retry hold release now move delete.",
    },
    {
        ROUTE_VIEW("/v1/bulk", QUERY_BULKS),
        .gives = "Bulks",
        .help = "Lists bulk actions that are running or ended within a day.",
    },
    {
        ROUTE_VIEW("/v1/bulk/{id}", QUERY_BULK, .id_of = "bulk action"),
        .gives = "Bulk",
        .params = {WAIT_PARAM("Answer when it is done, or after this time.")},
        .errors = {E_NOT_FOUND},
        .help = "Shows a bulk action.  It is kept for a day after its end.",
    },
};

const struct route_table bulk_routes = ROUTE_TABLE(bulk_rows);
