/*
 * Logs: a worker appends to the log of a job that it runs.
 *
 * Idempotent by offset: bytes that the log has already are skipped, a gap is refused.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/jobs/log.h"

#include "base/jtext/jtext.h"
#include "engine/batch/transaction.h"
#include "engine/claims/claim.h"
#include "engine/claims/exchange.h"
#include "engine/reads/job_json.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"
#include "store/jobs/logs.h"

struct log_result {
    struct err refused; /* E_OK: taken; E_INVALID: a gap; E_TOO_LARGE: full */
    int64_t size;       /* of the log; unset with E_NOT_FOUND and E_STALE_LEASE */
};

static enum err_code find_job(struct engine *e, const struct log_append *l, struct job *j,
                              struct err *refused, struct err *err)
{
    bool found = false;

    if (store_job_load(e->store, l->id, LOAD_STATE, &e->batch.arena, j, &found, err) != E_OK)
        return err->code;
    if (!found)
        err_set(refused, E_NOT_FOUND, "there is no such job (any more)");
    else if (j->state != JOB_RUNNING || j->token != l->token)
        err_set(refused, E_STALE_LEASE, "the lease is not valid any more: the job is %s",
                job_state_name(j->state));
    return E_OK;
}

/* The part of it that the log, which ends at `size`, does not have. */
static struct log_append fresh_part(const struct log_append *l, int64_t size)
{
    struct log_append fresh = *l;
    size_t known = (size_t)(size - l->offset);

    fresh.offset = size;
    fresh.data = slice_make(l->data.data + known, l->data.size - known);
    while (fresh.n_marks > 0 && fresh.marks->offset < size) {
        fresh.marks++;
        fresh.n_marks--;
    }
    return fresh;
}

/* Each attempt may log what the queue keeps.  Earlier steps of a route may have run in queues that
 * keep more, so for routes the largest counts: there the worker limits each attempt, and this
 * limits only their sum. */
static int64_t room_of(const struct engine *e, const struct queue *q, const struct job *j)
{
    int64_t kept = q->def.keep_log;

    for (size_t i = 0; j->step > 0 && i < e->queues.count; i++)
        if (e->queues.items[i]->def.keep_log > kept)
            kept = e->queues.items[i]->def.keep_log;
    return kept * j->attempt;
}

static enum err_code append(struct engine *e, const struct log_append *l, const struct job *j,
                            struct log_result *ret, struct err *err)
{
    const struct queue *q = queue_by_id(e, j->queue);
    int64_t end = l->offset + (int64_t)l->data.size;

    if (store_log_size(e->store, l->id, &ret->size, err) != E_OK)
        return err->code;
    if (l->offset > ret->size) {
        err_set(&ret->refused, E_INVALID,
                "the log ends at %lld, not at %lld: send what is missing first",
                (long long)ret->size, (long long)l->offset);
        return E_OK;
    }
    if (end <= ret->size)
        return E_OK;
    if (end > room_of(e, q, j)) {
        err_set(&ret->refused, E_TOO_LARGE,
                "the log of this attempt is full: %lld bytes (keep.log)",
                (long long)q->def.keep_log);
        return E_OK;
    }
    struct log_append fresh = fresh_part(l, ret->size);

    if (engine_write(e, err) != E_OK ||
        store_log_add(e->store, l->id, fresh.offset, fresh.data, err) != E_OK ||
        store_log_mark(e->store, l->id, fresh.marks, fresh.n_marks, err) != E_OK)
        return err->code;
    ret->size = end;
    return E_OK;
}

static enum err_code take(struct engine *e, const struct log_append *l, struct log_result *ret,
                          struct err *err)
{
    struct job j;

    *ret = (struct log_result){.refused = ERR_INIT};
    if (find_job(e, l, &j, &ret->refused, err) != E_OK)
        return err->code;
    return ret->refused.code != E_OK ? E_OK : append(e, l, &j, ret, err);
}

enum err_code log_run(struct engine *e, struct op *op, struct err *err)
{
    struct log_result result;

    if (take(e, &op->log, &result, err) != E_OK)
        return err->code;
    op->err = result.refused;
    if (op->err.code == E_OK)
        buf_addf(&op->reply, "{\"size\":%lld}", (long long)result.size);
    return E_OK;
}

/* ---- with finishes and touches ---- */

static enum err_code take_with_item(struct engine *e, struct op *op, const struct log_append *log,
                                    struct attempt_ref item, struct slice lease, struct err *err)
{
    struct log_append l = *log;
    struct log_result result;

    l.id = item.job;
    l.token = item.token;
    if (take(e, &l, &result, err) != E_OK)
        return err->code;
    /* A stale lease or missing job is reported by the result of the finish or touch itself. */
    if (result.refused.code != E_INVALID && result.refused.code != E_TOO_LARGE)
        return E_OK;
    op->answer_now = true;
    jtext_add_comma(&op->logs);
    buf_add_char(&op->logs, '{');
    jtext_add_id(&op->logs, "id", l.id);
    jtext_put_string(&op->logs, "lease", lease);
    buf_addf(&op->logs, ",\"size\":%lld}", (long long)result.size);
    return E_OK;
}

static enum err_code take_all(struct engine *e, struct op *op, struct err *err)
{
    const struct exchange *x = &op->exchange;

    for (size_t i = 0; i < x->n_touch; i++)
        if (x->touch[i].log != NULL &&
            take_with_item(e, op, x->touch[i].log,
                           (struct attempt_ref){x->touch[i].id, x->touch[i].token},
                           x->touch[i].lease, err) != E_OK)
            return err->code;
    for (size_t i = 0; i < x->n_finish; i++)
        if (x->finish[i].log != NULL &&
            take_with_item(e, op, x->finish[i].log,
                           (struct attempt_ref){x->finish[i].id, x->finish[i].token},
                           x->finish[i].lease, err) != E_OK)
            return err->code;
    return E_OK;
}

enum err_code exchange_logs(struct engine *e, struct err *err)
{
    struct op **ops = e->batch.ops;
    size_t n = e->batch.n_ops;

    for (size_t i = 0; i < n; i++)
        if (ops[i]->kind == OP_EXCHANGE && exchange_has_logs(&ops[i]->exchange) &&
            exchange_is_sound(e, ops[i]) && take_all(e, ops[i], err) != E_OK)
            return err->code;
    return E_OK;
}
