/*
 * Lists and views: the row of a route says which query answers it, and how its path and parameters
 * fill the query.
 */
/* SPDX-License-Identifier: MIT */
#include "core/route/dest.h"
#include "server/api/api.h"
#include "server/parse/job_filter.h"
#include "server/request/request.h"

static void read_view(struct request *r, int64_t id)
{
    request_query(r, r->route->view.query)->id = id;
    request_read(r, NULL, NULL);
}

/* The wait is over, for one reason or another: shows what is there now. */
static void show_awaited(struct request *r)
{
    if (r->change.op.err.code != E_OK)
        request_answer_op(r);
    else
        read_view(r, r->change.op.wait.id);
}

void view_show_ended(struct request *r, int64_t id, int64_t wait_us)
{
    request_op(r, OP_WAIT)->wait = (struct job_wait){.id = id, .wait_us = wait_us};
    request_run(r, show_awaited);
}

enum err_code view_show(struct request *r, struct err *err)
{
    const struct route_view *view = &r->route->view;

    if (view->id_of != NULL) {
        int64_t wait_us;
        int64_t id;

        if (request_id(r, r->route->view.id_of, &id, err) != E_OK ||
            request_wait(r, &wait_us, err) != E_OK)
            return err->code;
        if (wait_us > 0)
            view_show_ended(r, id, wait_us);
        else
            read_view(r, id);
        return E_OK;
    }
    if (view->name_of != NULL && dest_name_check(view->name_of, r->args[0], err) != E_OK)
        return err->code;
    struct query *q = request_query(r, view->query);

    q->name = r->args[0];
    if (view->filters && (job_filter_from_params(r, &q->filter, &q->arena, err) != E_OK ||
                          request_flag(r, "whole", &q->whole, err) != E_OK))
        return err->code;
    if (view->limit > 0) {
        q->cursor = request_param(r, "cursor");
        if (limit_from_params(r, view->limit, &q->limit, err) != E_OK)
            return err->code;
    }
    request_read(r, NULL, NULL);
    return E_OK;
}
