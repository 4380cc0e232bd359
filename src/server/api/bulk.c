/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/json/json.h"
#include "core/queue/def.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/parse/fields.h"
#include "server/parse/job_filter.h"
#include "server/process/server_state.h"
#include "server/request/request.h"

/* ---- POST /v1/bulk ---- */

static const struct {
    const char *name;
    enum act_kind kind;
} actions[] = {
    {"cancel", ACT_CANCEL}, {"retry", ACT_RETRY}, {"hold", ACT_HOLD},     {"release", ACT_RELEASE},
    {"now", ACT_NOW},       {"move", ACT_MOVE},   {"delete", ACT_DELETE},
};

struct bulk_reader {
    struct bulk *bulk;
    bool has_action, has_filter;
};

static enum err_code bulk_action(struct field_reader *r, struct slice value)
{
    struct bulk_reader *to = r->to;

    to->has_action = true;
    for (size_t i = 0; i < ARRAY_LEN(actions) && json_type_of(value) == JSON_T_STRING; i++)
        if (slice_is(json_text(value, r->arena), actions[i].name)) {
            to->bulk->kind = actions[i].kind;
            return E_OK;
        }
    return field_refuse(r, "one of cancel retry hold release now move delete", value);
}

static enum err_code bulk_filter(struct field_reader *r, struct slice value)
{
    struct bulk_reader *to = r->to;

    to->has_filter = true;
    return job_filter_from_json(value, clock_wall_us(), r->arena, &to->bulk->filter, r->err);
}

static enum err_code bulk_queue(struct field_reader *r, struct slice value)
{
    return field_text(r, value, 1, QUEUE_NAME_MAX, &((struct bulk_reader *)r->to)->bulk->queue);
}

static enum err_code bulk_alone(struct field_reader *r, struct slice value)
{
    return field_bool(r, value, &((struct bulk_reader *)r->to)->bulk->alone);
}

static const struct field bulk_fields[] = {
    {FIELD("action"), .read = bulk_action},
    {FIELD("filter"), .read = bulk_filter},
    {FIELD("queue"), .read = bulk_queue, .null = true},
    {FIELD("alone"), .read = bulk_alone, .null = true},
};

static enum err_code check_bulk(const struct bulk_reader *to, struct err *err)
{
    if (!to->has_action)
        return err_set(err, E_INVALID,
                       "the body needs an 'action': cancel retry hold release now move delete");
    if (!to->has_filter)
        return err_set(err, E_INVALID, "say which jobs: the body needs a 'filter'");
    if (to->bulk->kind == ACT_MOVE && to->bulk->queue.size == 0)
        return err_set(err, E_INVALID, "move: the body needs a 'queue': where the jobs go");
    return E_OK;
}

static enum err_code read_bulk(struct request *r, struct arena *arena, struct bulk *bulk,
                               struct err *err)
{
    struct bulk_reader to = {.bulk = bulk};
    struct field_reader reader = {.fields = bulk_fields,
                                  .n_fields = ARRAY_LEN(bulk_fields),
                                  .what = "the body",
                                  .arena = arena,
                                  .err = err,
                                  .to = &to};
    struct slice object;

    if (request_object(r, &object, err) != E_OK || fields_read(&reader, object) != E_OK)
        return err->code;
    return check_bulk(&to, err);
}

/* Reads what it would do and changes nothing. */
static enum err_code plan_bulk(struct request *r, struct err *err)
{
    struct query *q = request_query(r, QUERY_PLAN);
    struct bulk bulk = {.kind = ACT_CANCEL};

    if (read_bulk(r, &q->arena, &bulk, err) != E_OK)
        return err->code;
    q->act = bulk.kind;
    q->filter = bulk.filter;
    q->name = bulk.queue;
    request_read(r, NULL, NULL);
    return E_OK;
}

static enum err_code bulk_create(struct request *r, struct err *err)
{
    bool dry_run = false;

    if (request_flag(r, "dry_run", &dry_run, err) != E_OK)
        return err->code;
    if (dry_run)
        return plan_bulk(r, err);
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
        .takes = "BulkToDo",
        .gives = "Bulk",
        .params = {{"dry_run", "boolean", "Change nothing, answer 200 with the number of jobs."}},
        .errors = {E_FULL, E_TOO_SLOW},
        .help = "Applies one action to many jobs: cancel retry hold release now move delete.",
    },
    {
        ROUTE("GET", "/v1/bulk", RIGHT_USER),
        .handle = view_show,
        .view = {QUERY_BULKS},
        .status = 200,
        .gives = "Bulks",
        .help = "Lists bulk actions that are running or ended within a day.",
    },
    {
        ROUTE("GET", "/v1/bulk/{id}", RIGHT_USER),
        .handle = view_show,
        .view = {QUERY_BULK, .id_of = "bulk action"},
        .status = 200,
        .gives = "Bulk",
        .params = {WAIT_PARAM("Answer when it is done, or after this time.")},
        .errors = {E_NOT_FOUND},
        .help = "Shows a bulk action.  It is kept for a day after its end.",
    },
};

const struct route_table bulk_routes = ROUTE_TABLE(bulk_rows);
