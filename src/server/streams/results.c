/*
 * GET /v1/groups/ID/results: ended members, a line each, read page by page as fast as the client
 * takes them.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/id.h"
#include "core/group/choice.h"
#include "server/api/api.h"
#include "server/request/reply.h"
#include "server/request/request.h"

struct results {
    int64_t group;
    int64_t last_id; /* the last member that was read */
    size_t taken;    /* of the page in the request's reply */
    bool over;
    bool broken;
};

static void read_page(struct request *r, request_fn *then)
{
    const struct results *s = r->state;
    struct query *q = request_query(r, QUERY_GROUP_RESULTS);

    q->id = s->group;
    q->last_id = s->last_id;
    request_read(r, NULL, then);
}

static void take_page(struct request *r)
{
    struct results *s = r->state;
    struct query *q = &r->reading.query;

    buf_deinit(&r->reply);
    r->reply = q->reply;
    q->reply = BUF_INIT(OP_REPLY_MAX);
    s->taken = 0;
    s->last_id = q->last_id;
    s->over = q->ended;
}

static void next_page_is_there(struct request *r)
{
    struct results *s = r->state;

    if (r->reading.query.err.code != E_OK)
        s->broken = true;
    else
        take_page(r);
    request_wake(r);
}

static ssize_t read_results(struct request *r, char *to, size_t max)
{
    struct results *s = r->state;
    size_t left = r->reply.size - s->taken;

    if (s->broken)
        return STREAM_FAIL;
    if (left > 0) {
        size_t n = left < max ? left : max;

        memcpy(to, r->reply.data + s->taken, n);
        s->taken += n;
        return (ssize_t)n;
    }
    if (s->over)
        return STREAM_END;
    read_page(r, next_page_is_there);
    return STREAM_WAIT;
}

static void first_page_is_there(struct request *r)
{
    if (r->reading.query.err.code != E_OK) {
        request_answer_query(r);
        return;
    }
    take_page(r);
    reply_stream(r, STREAM_ENDLESS, TYPE_LINES, read_results);
    r->status = 200;
}

static void free_results(struct request *r)
{
    free(r->state);
}

enum err_code group_results(struct request *r, struct err *err)
{
    struct results *s = mem_zalloc(sizeof(*s));
    struct slice cursor = request_param(r, "cursor");
    struct err ignored = ERR_INIT;

    r->state = s;
    r->cleanup = free_results;
    if (group_id_parse(r->args[0], &s->group, &ignored) != E_OK)
        return err_set(err, E_NOT_FOUND, "there is no such group");
    if (cursor.data != NULL && !id_parse(cursor, &s->last_id))
        return err_set(err, E_INVALID, "cursor: is not the id of a job");
    read_page(r, first_page_is_there);
    return E_OK;
}
