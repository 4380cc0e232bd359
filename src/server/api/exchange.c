/* SPDX-License-Identifier: MIT */
#include "server/api/api.h"
#include "server/parse/emit.h"
#include "server/parse/exchange.h"
#include "server/parse/filter.h"
#include "server/process/server_state.h"
#include "server/request/request.h"

static void answer_exchange(struct request *r)
{
    if (r->server->follow.count > 0 && r->change.op.err.code == E_OK) {
        /* Wakes those who follow the logs that the request extended. */
        const struct exchange *x = &r->change.op.exchange;
        struct log_follow *follow = &r->server->follow;

        for (size_t i = 0; i < x->n_touch; i++)
            if (x->touch[i].log != NULL)
                log_follow_heard(follow, x->touch[i].id);
        for (size_t i = 0; i < x->n_finish; i++)
            if (x->finish[i].log != NULL)
                log_follow_heard(follow, x->finish[i].id);
    }
    request_answer_op(r);
}

static enum err_code worker_exchange(struct request *r, struct err *err)
{
    struct submit_source source = {.no_commands = no_commands(r->right),
                                   .leases = &r->server->lease_key};
    struct op *op = request_op(r, OP_EXCHANGE);
    enum exchange_kind kind = (enum exchange_kind)r->route->what;

    if (parse_exchange(buf_slice(&r->body), kind, &source, &op->arena, &op->exchange, err) != E_OK)
        return err->code;
    op->exchange.may_command = r->right == RIGHT_ADMIN;
    request_run(r, answer_exchange);
    return E_OK;
}

static enum err_code worker_emit(struct request *r, struct err *err)
{
    struct submit_source source = {.no_commands = no_commands(r->right),
                                   .leases = &r->server->lease_key};
    struct op *op = request_op(r, OP_EMIT);

    if (parse_emit(buf_slice(&r->body), &source, &op->arena, &op->emit, err) != E_OK)
        return err->code;
    op->emit.may_command = r->right == RIGHT_ADMIN;
    request_run(r, NULL);
    return E_OK;
}

static enum err_code worker_filter(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_FILTER);

    if (parse_filter(buf_slice(&r->body), &op->arena, &op->filter, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

/* ---- routes ---- */

static const struct route exchange_rows[] = {
    {
        ROUTE("POST", "/v1/claim", RIGHT_USER),
        .handle = worker_exchange,
        .what = EXCHANGE_CLAIM,
        .body = BODY_JSON,
        .max_body = BODY_ARRAY_MAX,
        .takes = "Claim",
        .gives = "Claimed",
        .errors = {E_TOO_MANY, E_FULL},
        .help = "Finishes and touches held jobs, then claims jobs, waiting for them if asked to.",
    },
    {
        ROUTE("POST", "/v1/finish", RIGHT_USER),
        .handle = worker_exchange,
        .what = EXCHANGE_FINISH,
        .body = BODY_JSON,
        .max_body = BODY_ARRAY_MAX,
        .takes = "Finish",
        .gives = "Finished",
        .errors = {E_FULL},
        .help = "Ends claimed jobs.  The same finish again is ok.",
    },
    {
        ROUTE("POST", "/v1/touch", RIGHT_USER),
        .handle = worker_exchange,
        .what = EXCHANGE_TOUCH,
        .body = BODY_JSON,
        .max_body = BODY_ARRAY_MAX,
        .takes = "Touch",
        .gives = "Touched",
        .errors = {E_FULL},
        .help = "Extends leases and reports progress.",
    },
    {
        ROUTE("POST", "/v1/emit", RIGHT_USER),
        .handle = worker_emit,
        .body = BODY_JSON,
        .max_body = BODY_ARRAY_MAX,
        .takes = "Emit",
        .gives = "Emitted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_STALE_LEASE, E_QUEUE_DOWN, E_FORBIDDEN, E_FULL},
        .help = "Adds jobs that are released when the emitting job is done, and saves its cursor.",
    },
    {
        ROUTE("POST", "/v1/filter", RIGHT_USER),
        .handle = worker_filter,
        .body = BODY_JSON,
        .max_body = BODY_ARRAY_MAX,
        .takes = "FilterAsk",
        .gives = "FilterJobs",
        .errors = {E_TOO_MANY, E_FULL},
        .help = "Takes verdicts of command filters, then gives jobs that wait for one, waiting for "
                "them if asked to.",
    },
    {
        ROUTE_VIEW("/v1/workers", QUERY_WORKERS),
        .gives = "Workers",
        .help = "Lists workers seen recently.",
    },
};

const struct route_table exchange_routes = ROUTE_TABLE(exchange_rows);
