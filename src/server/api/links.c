/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/object/object.h"
#include "core/route/dest.h"
#include "core/route/join_def.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/request/request.h"

/* ---- signals ---- */

static const struct field signal_fields[] = {
    FIELD_INT64("count", signal_op, count, .null = true, .min = 1, .max = SIGNAL_COUNT_MAX,
                .help = "How far it is raised (default 1)."),
};
static const struct object signal_object = {.what = "the body",
                                            .schema = "Raise",
                                            OBJECT_FIELDS(signal_fields)};

static enum err_code signal_add(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_SIGNAL);

    op->signal = (struct signal_op){.kind = SIGNAL_OP_RAISE, .name = r->args[0], .count = 1};
    if (dest_name_check("signal", r->args[0], err) != E_OK ||
        request_body(r, &signal_object, &op->signal, &op->arena, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

static enum err_code signal_clear(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_SIGNAL);

    if (dest_name_check("signal", r->args[0], err) != E_OK)
        return err->code;
    op->signal = (struct signal_op){.kind = SIGNAL_OP_CLEAR, .name = r->args[0]};
    request_run(r, NULL);
    return E_OK;
}

/* ---- joins ---- */

static const struct field arrive_fields[] = {
    FIELD_OBJECT("params", join_op, params, .null = true, .schema = "Params",
                 .help = "The key is filled from them."),
};
static const struct object arrive_object = {.what = "the body",
                                            .schema = "Arrive",
                                            OBJECT_FIELDS(arrive_fields)};

static enum err_code join_add(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_JOIN);

    op->join = (struct join_op){.kind = JOIN_OP_ARRIVE, .name = r->args[0]};
    if (request_body(r, &arrive_object, &op->join, &op->arena, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

static enum err_code join_clear(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_JOIN);
    struct slice key = request_param(r, "key");

    if (key.size > JOIN_KEY_MAX)
        return err_set(err, E_INVALID, "key: has %zu bytes, at most %d are allowed", key.size,
                       JOIN_KEY_MAX);
    op->join = (struct join_op){
        .kind = JOIN_OP_CLEAR, .name = r->args[0], .key = key, .has_key = key.data != NULL};
    request_run(r, NULL);
    return E_OK;
}

/* ---- routes ---- */

static const struct route signals_rows[] = {
    {
        ROUTE_VIEW("/v1/signals", QUERY_SIGNALS, .limit = LINKS_LIMIT),
        .gives = "Signals",
        .params = {LIMIT_PARAM, CURSOR_PARAM},
        .help = "Lists the signals by name, with how many jobs wait for each.",
    },
    {
        ROUTE_VIEW("/v1/signals/{name}", QUERY_SIGNAL, .name_of = "signal"),
        .gives = "Signal",
        .help = "Shows a signal and the first jobs that wait for it.",
    },
    {
        ROUTE("POST", "/v1/signals/{name}", RIGHT_USER),
        .handle = signal_add,
        .body = BODY_OPTIONAL,
        .max_body = BODY_SMALL_MAX,
        .reads = &signal_object,
        .gives = "SignalLevel",
        .errors = {E_CONFLICT, E_FULL},
        .help = "Raises a signal.",
    },
    {
        ROUTE("DELETE", "/v1/signals/{name}", RIGHT_USER),
        .handle = signal_clear,
        .gives = "SignalLevel",
        .errors = {E_FULL},
        .help = "Sets a signal to 0.",
    },
};

const struct route_table signals_routes = ROUTE_TABLE(signals_rows);

static const struct route joins_rows[] = {
    {
        ROUTE_VIEW("/v1/joins", QUERY_JOINS, .limit = LINKS_LIMIT),
        .gives = "Joins",
        .params = {LIMIT_PARAM, CURSOR_PARAM},
        .help = "Lists the joins by name.",
    },
    {
        ROUTE_VIEW("/v1/joins/{name}", QUERY_JOIN, .limit = LINKS_LIMIT),
        .gives = "Join",
        .params = {LIMIT_PARAM, CURSOR_PARAM},
        .errors = {E_NOT_FOUND},
        .help = "Shows a join and its arrivals by key.",
    },
    {
        ROUTE("POST", "/v1/joins/{name}", RIGHT_USER),
        .handle = join_add,
        .body = BODY_OPTIONAL,
        .max_body = JOB_BYTES_MAX,
        .reads = &arrive_object,
        .gives = "Arrived",
        .errors = {E_NOT_FOUND, E_FULL},
        .help = "Arrives at a join.",
    },
    {
        ROUTE("DELETE", "/v1/joins/{name}", RIGHT_ADMIN),
        .handle = join_clear,
        .gives = "JoinCleared",
        .params = {{"key", "string", "Only arrivals with this key."}},
        .errors = {E_NOT_FOUND, E_FULL},
        .help = "Clears what has arrived at a join since it last fired.",
    },
};

const struct route_table joins_routes = ROUTE_TABLE(joins_rows);
