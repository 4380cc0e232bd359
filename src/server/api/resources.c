/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "core/gate/gate.h"
#include "core/gate/resource_def.h"
#include "core/object/object.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/request/request.h"

#define SHUT_MAX_US (10000 * US_PER_DAY)

static enum err_code resource_show(struct request *r, struct err *err)
{
    struct slice at = request_param(r, "at");
    int64_t at_us = 0;

    if (at.data != NULL && time_parse(at, &at_us, err) != E_OK)
        return err_wrap(err, "at");
    struct query *q = request_query(r, QUERY_RESOURCE);

    q->name = r->args[0];
    q->at = at_us;
    request_read(r, NULL, NULL);
    return E_OK;
}

static const struct field shut_fields[] = {
    FIELD_LENGTH("for", resource_op, for_us, .null = true, .min = US_PER_MS, .max = SHUT_MAX_US,
                 .help = "How long it is shut (default: until it is opened)."),
    FIELD_TIME("until", resource_op, until_at, .null = true, .min = 1, .max = INT64_MAX,
               .help = "Shut until this instant, instead of `for`."),
    FIELD_TEXT("why", resource_op, why, .null = true, .max = GATE_WHY_MAX,
               .help = "Shown as the reason of jobs that wait for it."),
};
static const struct object shut_object = {.what = "the body",
                                          .schema = "Shut",
                                          OBJECT_FIELDS(shut_fields)};

static enum err_code resource_shut(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_RESOURCE);

    op->resource = (struct resource_op){.kind = RESOURCE_OP_SHUT, .name = r->args[0]};
    if (request_body(r, &shut_object, &op->resource, &op->arena, err) != E_OK)
        return err->code;
    if (op->resource.for_us > 0 && op->resource.until_at > 0)
        return err_set(err, E_INVALID, "until: not together with 'for'");
    request_run(r, NULL);
    return E_OK;
}

static enum err_code resource_open_again(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_RESOURCE);

    (void)err;
    op->resource = (struct resource_op){.kind = RESOURCE_OP_OPEN, .name = r->args[0]};
    request_run(r, NULL);
    return E_OK;
}

static const struct route resources_rows[] = {
    {
        ROUTE_VIEW("/v1/resources", QUERY_RESOURCES, .limit = LINKS_LIMIT),
        .gives = "Resources",
        .params = {LIMIT_PARAM, CURSOR_PARAM},
        .help = "Lists the resources by name.",
    },
    {
        ROUTE("GET", "/v1/resources/{name}", RIGHT_USER),
        .handle = resource_show,
        .gives = "Resource",
        .params = {{"at", "string", "Show it as it will be at this instant."}},
        .errors = {E_NOT_FOUND},
        .help = "Shows a resource and the jobs that use it.",
    },
    {
        ROUTE("PUT", "/v1/resources/{name}", RIGHT_ADMIN),
        .handle = definition_put,
        .what = DEFINITION_RESOURCE,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .reads = &resource_object,
        .gives = "Changes",
        .errors = {E_FULL},
        .help = "Defines a resource.  201 when it is new.",
    },
    {
        ROUTE("DELETE", "/v1/resources/{name}", RIGHT_ADMIN),
        .handle = definition_remove,
        .what = DEFINITION_RESOURCE,
        .gives = "QueueDeleted",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_FULL},
        .help = "Removes a resource that nothing needs.",
    },
    {
        ROUTE("POST", "/v1/resources/{name}/shut", RIGHT_ADMIN),
        .handle = resource_shut,
        .body = BODY_OPTIONAL,
        .max_body = BODY_SMALL_MAX,
        .reads = &shut_object,
        .gives = "ResourceShut",
        .errors = {E_NOT_FOUND, E_FULL},
        .help = "Shuts a resource: no job that needs it starts, running ones continue.",
    },
    {
        ROUTE("POST", "/v1/resources/{name}/open", RIGHT_ADMIN),
        .handle = resource_open_again,
        .gives = "ResourceShut",
        .errors = {E_NOT_FOUND, E_FULL},
        .help = "Opens a resource that was shut.",
    },
};

const struct route_table resources_routes = ROUTE_TABLE(resources_rows);
