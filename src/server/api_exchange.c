/* SPDX-License-Identifier: MIT */
#include "server/api.h"
#include "server/parse_exchange.h"
#include "server/request.h"

enum err_code worker_exchange(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_EXCHANGE);
    enum exchange_kind kind = (enum exchange_kind)r->route->what;

    if (parse_exchange(buf_slice(&r->body), kind, &op->arena, &op->exchange, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}
