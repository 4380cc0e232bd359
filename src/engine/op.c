/* SPDX-License-Identifier: MIT */
#include "engine/op.h"

#include <string.h>

void op_init(struct op *op, enum op_kind kind)
{
    memset(op, 0, sizeof(*op));
    op->kind = kind;
    op->arena = ARENA_INIT;
    op->reply = BUF_INIT(OP_REPLY_MAX);
    op->cancels = BUF_INIT(OP_REPLY_MAX);
    op->logs = BUF_INIT(OP_REPLY_MAX);
}

void op_deinit(struct op *op)
{
    arena_deinit(&op->arena);
    buf_deinit(&op->reply);
    buf_deinit(&op->cancels);
    buf_deinit(&op->logs);
}

bool exchange_has_logs(const struct exchange *x)
{
    for (size_t i = 0; i < x->n_touch; i++)
        if (x->touch[i].log != NULL)
            return true;
    for (size_t i = 0; i < x->n_finish; i++)
        if (x->finish[i].log != NULL)
            return true;
    return false;
}
