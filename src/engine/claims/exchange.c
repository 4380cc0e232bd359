/* SPDX-License-Identifier: MIT */
#include "engine/claims/exchange.h"

#include "base/jtext/jtext.h"
#include "engine/claims/claim.h"
#include "engine/claims/touch.h"
#include "engine/jobs/finish.h"
#include "engine/queues/instance.h"
#include "engine/queues/queue.h"

enum err_code exchange_finish(struct engine *e, struct op *op, struct err *err)
{
    if (!exchange_is_sound(e, op))
        return E_OK;
    buf_add_char(&op->reply, '{');
    return op->exchange.parts & EXCHANGE_RESULTS ? finish_run(e, op, err) : E_OK;
}

enum err_code exchange_touch(struct engine *e, struct op *op, struct err *err)
{
    if (op->err.code != E_OK)
        return E_OK;
    if (op->exchange.parts & EXCHANGE_TOUCHED && touch_run(e, op, err) != E_OK)
        return err->code;
    /* The list of a disconnected worker may be out of date: a new worker of the same name may have
     * been granted other jobs since. */
    if (!op->exchange.all || (op->alive != NULL && !op->alive(op)) ||
        !instance_says_all(e, &op->exchange))
        return E_OK;
    return claim_return_unknown(e, op, err);
}

void exchange_close(struct engine *e, struct op *op)
{
    struct buf *b = &op->reply;

    if (op->exchange.parts & EXCHANGE_TOUCHED) {
        jtext_add_key(b, "cancel");
        buf_add_char(b, '[');
        buf_add_slice(b, buf_slice(&op->cancels));
        buf_add_char(b, ']');
    }
    if (op->exchange.parts & EXCHANGE_JOBS) {
        jtext_add_key(b, "jobs");
        buf_add_char(b, '[');
        claim_write(e, op);
        buf_add_char(b, ']');
    }
    if (op->logs.size > 0) {
        jtext_add_key(b, "logs");
        buf_add_char(b, '[');
        buf_add_slice(b, buf_slice(&op->logs));
        buf_add_char(b, ']');
    }
    if (op->exchange.has_definitions)
        jtext_put_int(b, "definitions", definitions_number(e));
    buf_add_char(b, '}');
}
