/* SPDX-License-Identifier: MIT */
#include "server/api/api.h"
#include "server/limits.h"
#include "server/parse/job_filter.h"
#include "server/request/request.h"

static enum err_code read_all(struct request *r, enum query_kind kind)
{
    request_query(r, kind);
    request_read(r, NULL, NULL);
    return E_OK;
}

enum err_code queues_list(struct request *r, struct err *err)
{
    (void)err;
    return read_all(r, QUERY_QUEUES);
}

enum err_code workers_list(struct request *r, struct err *err)
{
    (void)err;
    return read_all(r, QUERY_WORKERS);
}

enum err_code counts_show(struct request *r, struct err *err)
{
    (void)err;
    return read_all(r, QUERY_COUNTS);
}

enum err_code queue_show(struct request *r, struct err *err)
{
    (void)err;
    request_query(r, QUERY_QUEUE)->name = r->args[0];
    request_read(r, NULL, NULL);
    return E_OK;
}

enum err_code queue_log(struct request *r, struct err *err)
{
    struct query *q = request_query(r, QUERY_QUEUE_LOG);

    q->name = r->args[0];
    if (limit_from_params(r, QUEUE_LOG_LIMIT, &q->limit, err) != E_OK)
        return err->code;
    request_read(r, NULL, NULL);
    return E_OK;
}

/* ---- states ---- */

enum err_code queue_put_state(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_QUEUE);

    (void)err;
    op->queue = (struct queue_op){.kind = QUEUE_OP_STATE,
                                  .name = r->args[0],
                                  .state = (enum queue_state)r->route->what};
    request_run(r, NULL);
    return E_OK;
}

enum err_code queue_restart(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_QUEUE);

    (void)err;
    op->queue = (struct queue_op){.kind = QUEUE_OP_RESTART, .name = r->args[0]};
    request_run(r, NULL);
    return E_OK;
}
