/* SPDX-License-Identifier: MIT */
#include "server/api.h"
#include "server/parse_emit.h"
#include "server/parse_exchange.h"
#include "server/request.h"

enum err_code worker_exchange(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_EXCHANGE);
    enum exchange_kind kind = (enum exchange_kind)r->route->what;

    if (parse_exchange(buf_slice(&r->body), kind, r->right, &op->arena, &op->exchange, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

enum err_code worker_emit(struct request *r, struct err *err)
{
    struct submit_source source = {.right = r->right};
    struct op *op = request_op(r, OP_EMIT);

    if (parse_emit(buf_slice(&r->body), &source, &op->arena, &op->emit, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}
