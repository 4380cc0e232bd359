/* SPDX-License-Identifier: MIT */
#include "engine/claims/touch.h"

#include "base/jtext/jtext.h"
#include "engine/batch/batch.h"
#include "engine/batch/transaction.h"
#include "engine/claims/leases.h"
#include "engine/reads/job_json.h"
#include "store/jobs/jobs.h"

static enum err_code touch_one(struct engine *e, struct op *op, const struct touch_item *item,
                               struct err *err)
{
    struct batch *batch = current_batch(e);
    int64_t lease_us;
    struct touch_status status = {
        .text = item->text,
        .has_text = item->has_text,
        .done = item->done,
        .total = item->total,
        .has_done = item->has_done,
        .unit = item->unit,
        .has_unit = item->has_unit,
        .expected_at = item->left_us < 0 ? 0 : batch_now(e).wall_at + item->left_us,
        .has_expected = item->has_left,
    };
    enum touch_result result = TOUCH_LOST;

    if (lease_length(e, item->token, &lease_us, err) != E_OK || engine_write(e, err) != E_OK ||
        store_job_touch(batch_store(e), item->id, item->token, lease_until_at(e, lease_us), &status,
                        &result, err) != E_OK)
        return err->code;
    VEC_PUSH(&batch->extended_claims, item->token);
    if (result == TOUCH_LOST) {
        batch->tally.stale++;
        op->answer_now = true;
        jtext_add_lease(&op->reply, item->id, item->lease);
    } else if (result == TOUCH_CANCELLING) {
        jtext_add_lease(&op->cancels, item->id, item->lease);
        VEC_PUSH(&batch->reported_cancels, item->id);
    }
    return E_OK;
}

enum err_code touch_run(struct engine *e, struct op *op, struct err *err)
{
    const struct exchange *x = &op->exchange;

    jtext_add_key(&op->reply, "lost");
    buf_add_char(&op->reply, '[');
    for (size_t i = 0; i < x->n_touch; i++)
        if (touch_one(e, op, &x->touch[i], err) != E_OK)
            return err->code;
    buf_add_char(&op->reply, ']');
    return E_OK;
}
