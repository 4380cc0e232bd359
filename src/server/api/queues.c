/* SPDX-License-Identifier: MIT */
#include "server/api/api.h"
#include "server/limits.h"
#include "server/request/request.h"

/* ---- states ---- */

static enum err_code queue_put_state(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_QUEUE);

    (void)err;
    op->queue = (struct queue_op){.kind = QUEUE_OP_STATE,
                                  .name = r->args[0],
                                  .state = (enum queue_state)r->route->what};
    request_run(r, NULL);
    return E_OK;
}

static enum err_code queue_restart(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_QUEUE);

    (void)err;
    op->queue = (struct queue_op){.kind = QUEUE_OP_RESTART, .name = r->args[0]};
    request_run(r, NULL);
    return E_OK;
}

/* ---- routes ---- */

#define STATE(name, state, text)                                                   \
    {                                                                              \
        ROUTE("POST", "/v1/queues/{name}/" name, RIGHT_ADMIN),                     \
            .handle = queue_put_state, .what = (state), .body = BODY_OPTIONAL,     \
            .max_body = BODY_SMALL_MAX, .takes = "Nothing", .gives = "QueueState", \
            .errors = {E_NOT_FOUND, E_FULL}, .help = (text)                        \
    }

static const struct route queues_rows[] = {
    {
        ROUTE_VIEW("/v1/queues", QUERY_QUEUES),
        .gives = "Queues",
        .help = "Lists the queues with their counts.",
    },
    {
        ROUTE_VIEW("/v1/queues/{name}", QUERY_QUEUE),
        .gives = "Queue",
        .errors = {E_NOT_FOUND},
        .help = "Shows a queue: state, definition, counts, oldest ready job.",
    },
    {
        ROUTE("PUT", "/v1/queues/{name}", RIGHT_ADMIN),
        .handle = definition_put,
        .what = DEFINITION_QUEUE,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .takes = "QueueDefinition",
        .gives = "Changes",
        .errors = {E_FULL},
        .help = "Defines a queue.  201 when it is new.",
    },
    {
        ROUTE("DELETE", "/v1/queues/{name}", RIGHT_ADMIN),
        .handle = definition_remove,
        .what = DEFINITION_QUEUE,
        .gives = "QueueDeleted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL},
        .help = "Removes a queue that has no jobs.",
    },
    {
        ROUTE("POST", "/v1/queues/{name}/restart", RIGHT_ADMIN),
        .handle = queue_restart,
        .body = BODY_OPTIONAL,
        .max_body = BODY_SMALL_MAX,
        .takes = "Nothing",
        .gives = "QueueRestarted",
        .errors = {E_NOT_FOUND, E_FULL},
        .help = "Makes workers return its running jobs, uncounted, and restart its programs.",
    },
    {
        ROUTE_VIEW("/v1/queues/{name}/log", QUERY_QUEUE_LOG, .limit = QUEUE_LOG_LIMIT),
        .gives = "QueueLog",
        .params = {{"limit", "integer", "Maximum lines, 1 to 1000 (default 100)."}},
        .errors = {E_NOT_FOUND},
        .help = "Shows what happened to a queue, newest first: states, failures, broken workers.",
    },
    {
        ROUTE_VIEW("/v1/queues/{name}/drops", QUERY_DROPS),
        .gives = "Drops",
        .errors = {E_NOT_FOUND},
        .help = "Shows what the filters of a queue dropped: how much, and the last 100, newest "
                "first.",
    },
    STATE("pause", QUEUE_PAUSE, "Accepts jobs, starts none."),
    STATE("resume", QUEUE_UP, "Accepts and starts jobs: the same as up."),
    STATE("drain", QUEUE_DRAIN, "Refuses new jobs, starts those it has."),
    STATE("down", QUEUE_DOWN, "Refuses jobs, starts none."),
    STATE("up", QUEUE_UP, "Accepts and starts jobs."),
};

const struct route_table queues_routes = ROUTE_TABLE(queues_rows);
