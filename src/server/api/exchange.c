/* SPDX-License-Identifier: MIT */
#include "server/api/api.h"
#include "server/parse/emit.h"
#include "server/parse/exchange.h"
#include "server/process/parts.h"
#include "server/request/request.h"

/* Those who follow the logs that it brought. */
static void tell_followers(struct request *r)
{
    const struct exchange *x = &r->task.op.exchange;
    struct log_follow *follow = &r->server->follow;

    for (size_t i = 0; i < x->n_touch; i++)
        if (x->touch[i].log != NULL)
            log_follow_heard(follow, x->touch[i].id);
    for (size_t i = 0; i < x->n_finish; i++)
        if (x->finish[i].log != NULL)
            log_follow_heard(follow, x->finish[i].id);
}

static void answer_exchange(struct request *r)
{
    if (r->server->follow.count > 0 && r->task.op.err.code == E_OK)
        tell_followers(r);
    request_answer_op(r);
}

enum err_code worker_exchange(struct request *r, struct err *err)
{
    struct submit_source source = {.right = r->right, .leases = &r->server->lease_key};
    struct op *op = request_op(r, OP_EXCHANGE);
    enum exchange_kind kind = (enum exchange_kind)r->route->what;

    if (parse_exchange(buf_slice(&r->body), kind, &source, &op->arena, &op->exchange, err) != E_OK)
        return err->code;
    op->exchange.may_command = r->right == RIGHT_ADMIN;
    request_run(r, answer_exchange);
    return E_OK;
}

enum err_code worker_emit(struct request *r, struct err *err)
{
    struct submit_source source = {.right = r->right, .leases = &r->server->lease_key};
    struct op *op = request_op(r, OP_EMIT);

    if (parse_emit(buf_slice(&r->body), &source, &op->arena, &op->emit, err) != E_OK)
        return err->code;
    op->emit.may_command = r->right == RIGHT_ADMIN;
    request_run(r, NULL);
    return E_OK;
}
