/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "core/definition/kinds.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/request/request.h"

enum { NEXT_SHOWN = 10, NEXT_MAX = 1000 };

static enum err_code read_next(struct request *r, int *ret_next, struct err *err)
{
    struct slice text = request_param(r, "next");
    int next = 0;

    *ret_next = NEXT_SHOWN;
    if (text.data == NULL)
        return E_OK;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || next > NEXT_MAX)
            return err_set(err, E_INVALID, "next: must be from 0 to %d", NEXT_MAX);
        next = next * 10 + (text.data[i] - '0');
    }
    if (text.size == 0 || next > NEXT_MAX)
        return err_set(err, E_INVALID, "next: must be from 0 to %d", NEXT_MAX);
    *ret_next = next;
    return E_OK;
}

static enum err_code schedule_show(struct request *r, struct err *err)
{
    struct slice from = request_param(r, "from");
    int64_t from_at = 0;
    int next;

    if (read_next(r, &next, err) != E_OK)
        return err->code;
    if (from.data != NULL && time_parse(from, &from_at, err) != E_OK)
        return err_wrap(err, "from");
    struct query *q = request_query(r, QUERY_SCHEDULE);

    q->name = r->args[0];
    q->limit = next;
    q->from_at = from_at;
    request_read(r, NULL, NULL);
    return E_OK;
}

static enum err_code schedule_act(struct request *r, struct err *err)
{
    (void)err;
    request_op(r, OP_SCHEDULE)->schedule = (struct schedule_op){
        .kind = (enum schedule_op_kind)r->route->what, .name = r->args[0]};
    request_run(r, NULL);
    return E_OK;
}

static const struct route schedules_rows[] = {
    {
        ROUTE_VIEW("/v1/schedules", QUERY_SCHEDULES, .limit = LINKS_LIMIT),
        .gives = "Schedules",
        .params = {LIMIT_PARAM, CURSOR_PARAM},
        .help = "Lists the schedules by name.",
    },
    {
        ROUTE("GET", "/v1/schedules/{name}", RIGHT_USER),
        .handle = schedule_show,
        .gives = "Schedule",
        .params = {{"next", "integer", "How many of its next times to show (default 10)."},
                   {"from", "string", "Shows the times after this instant instead of now."}},
        .errors = {E_NOT_FOUND},
        .help = "Shows a schedule, its next times and what became of the last ones.",
    },
    {
        ROUTE("PUT", "/v1/schedules/{name}", RIGHT_ADMIN),
        .handle = definition_put,
        .what = DEFINITION_SCHEDULE,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .takes = "ScheduleDefinition",
        .gives = "Changes",
        .errors = {E_CONFLICT, E_FULL},
        .help = "Defines a schedule.",
    },
    {
        ROUTE("DELETE", "/v1/schedules/{name}", RIGHT_ADMIN),
        .handle = definition_remove,
        .what = DEFINITION_SCHEDULE,
        .gives = "Deleted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL},
        .help = "Removes a schedule; its jobs stay.",
    },
    {
        ROUTE("POST", "/v1/schedules/{name}/run", RIGHT_USER),
        .handle = schedule_act,
        .what = SCHEDULE_OP_RUN,
        .status = 201,
        .gives = "ScheduleRun",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL},
        .help = "Makes its job now, also while it is paused.",
    },
    {
        ROUTE("POST", "/v1/schedules/{name}/pause", RIGHT_ADMIN),
        .handle = schedule_act,
        .what = SCHEDULE_OP_PAUSE,
        .gives = "SchedulePaused",
        .errors = {E_NOT_FOUND, E_FULL},
        .help = "Stops it from firing.",
    },
    {
        ROUTE("POST", "/v1/schedules/{name}/resume", RIGHT_ADMIN),
        .handle = schedule_act,
        .what = SCHEDULE_OP_RESUME,
        .gives = "SchedulePaused",
        .errors = {E_NOT_FOUND, E_FULL},
        .help = "Lets it fire again, at its next time.",
    },
};

const struct route_table schedules_routes = ROUTE_TABLE(schedules_rows);
