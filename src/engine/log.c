/*
 * Logs: a worker adds to the log of a job it holds.
 *
 * Idempotent by offset: bytes that are there already are skipped, a gap is refused.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/engine_internal.h"
#include "store/store_logs.h"

static enum err_code find_job(struct engine *e, struct op *op, struct job *j, struct err *err)
{
    bool found = false;

    if (store_job_outline(e->store, op->log.id, &e->arena, j, &found, err) != E_OK)
        return err->code;
    if (!found)
        err_set(&op->err, E_NOT_FOUND, "there is no such job (any more)");
    else if (j->state != JOB_RUNNING || j->token != op->log.token)
        err_set(&op->err, E_STALE_LEASE, "the lease is not valid any more: the job is %s",
                job_state_name(j->state));
    return E_OK;
}

static enum err_code append(struct engine *e, struct op *op, const struct job *j, struct err *err)
{
    const struct queue *q = queue_by_id(e, j->queue);
    const struct log_append *l = &op->log;
    int64_t size = 0;

    if (store_log_size(e->store, l->id, &size, err) != E_OK)
        return err->code;
    if (l->offset > size) {
        err_set(&op->err, E_INVALID,
                "the log ends at %lld, not at %lld: send what is missing first", (long long)size,
                (long long)l->offset);
        return E_OK;
    }
    int64_t end = l->offset + (int64_t)l->data.size;

    if (end > size) {
        size_t known = (size_t)(size - l->offset);
        struct slice fresh = slice_make(l->data.data + known, l->data.size - known);

        if (end > q->def.keep_log) {
            err_set(&op->err, E_TOO_LARGE, "the log of this job is full: %lld bytes (keep.log)",
                    (long long)q->def.keep_log);
            return E_OK;
        }
        if (engine_write(e, err) != E_OK ||
            store_log_add(e->store, l->id, size, fresh, err) != E_OK)
            return err->code;
        size = end;
    }
    buf_addf(&op->reply, "{\"size\":%lld}", (long long)size);
    return E_OK;
}

enum err_code log_run(struct engine *e, struct op *op, struct err *err)
{
    struct job j;

    if (find_job(e, op, &j, err) != E_OK)
        return err->code;
    return op->err.code != E_OK ? E_OK : append(e, op, &j, err);
}
