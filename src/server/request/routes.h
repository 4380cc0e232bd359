/*
 * Routes: what can be asked for.  The single source of dispatch, 405, rights, limits and of
 * /v1/openapi.json.
 *
 * Each noun has its rows in server/api/NOUN.c; routes.c joins the tables and knows no noun.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "engine/reads/query.h"
#include "server/request/auth.h"

struct object;
struct request;

/* Answers the request, or passes it on: see request.h.  An error is answered by the caller. */
typedef enum err_code handler_fn(struct request *r, struct err *err);

enum body_kind {
    BODY_NONE, /* what comes is read and ignored */
    BODY_JSON,
    BODY_OPTIONAL, /* JSON; nothing is {} */
    BODY_JOBS,     /* JSON or NDJSON */
    BODY_RAW,
};

enum { ROUTE_ARGS_MAX = 1, ROUTE_PARAMS_MAX = 10, ROUTE_ERRORS_MAX = 6 };

struct route_param {
    const char *name; /* ending in `.*`: any name that begins so */
    const char *type; /* JSON schema type */
    const char *help;
};

/* What a list or a view asks of the store: see view_show. */
struct route_view {
    enum query_kind query;
    int limit;           /* default of `limit`, of routes that have `limit` and `cursor`; 0: none */
    bool filters;        /* the other parameters are a filter of jobs */
    const char *id_of;   /* the path has the id of this: "job"; NULL: a name, or nothing */
    const char *name_of; /* the name in the path must be one that this can have; NULL: any */
};

/* How a row begins: without a right it does not compile. */
#define ROUTE(method_, path_, right_) .method = (method_), .path = (path_), .right = (right_)

/* A list or a view, which needs no handler: ROUTE_VIEW("/v1/joins", QUERY_JOINS, .limit = 100). */
#define ROUTE_VIEW(path_, ...) \
    ROUTE("GET", path_, RIGHT_USER), .handle = view_show, .view = {__VA_ARGS__}

struct route {
    const char *method;
    const char *path; /* {name} is one segment */
    handler_fn *handle;
    enum right right;
    enum body_kind body;
    size_t max_body;
    int what;               /* for handlers that serve several routes */
    struct route_view view; /* for view_show, and for handlers that end with a view */
    bool starts;            /* a GET that changes something: no HEAD, and triggers may open it */
    int status;             /* of success, for the description; 0: 200 */
    const struct object *reads; /* the table of its body, which describes it; or NULL */
    const char *takes;          /* else: the schema of the body */
    const char *gives;          /* schema of the reply; NULL: not JSON, see `type` */
    const char *type;           /* of the reply; NULL: application/json */
    struct route_param params[ROUTE_PARAMS_MAX]; /* ends with a NULL name */
    enum err_code errors[ROUTE_ERRORS_MAX]; /* besides those any route can have; ends with E_OK */
    const char *help;
};

struct route_table {
    const struct route *rows;
    size_t count;
};

#define ROUTE_TABLE(rows_)                         \
    {                                              \
        .rows = (rows_), .count = ARRAY_LEN(rows_) \
    }

/* Parameters that several routes have. */
#define WAIT_PARAM(text)       \
    {                          \
        "wait", "string", text \
    }

#define LIMIT_PARAM                                                   \
    {                                                                 \
        "limit", "integer", "Maximum items, 1 to 1000 (default 100)." \
    }
#define CURSOR_PARAM                                                          \
    {                                                                         \
        "cursor", "string", "Continues after the reply that had this cursor." \
    }

struct route_match {
    const struct route *route;
    struct slice args[ROUTE_ARGS_MAX];
};

/* E_NOT_FOUND; E_METHOD, then `allow` has the methods that are there. */
MUST_CHECK enum err_code routes_match(struct slice method, struct slice path,
                                      struct route_match *ret_match, struct buf *allow,
                                      struct err *err);

/* The routes of all tables, by number from 0 on; NULL behind the last. */
const struct route *routes_get(size_t index);

/* The description of all of it, OpenAPI 3.1. */
void openapi_write(struct buf *out, struct slice url);

/* {"NAME":{…},…}: what requests bring, by the tables that read it, and the rest out of
 * schemas.json. */
void schemas_write(struct buf *out);
extern const char schemas_json[]; /* one object: what replies are made of, and parts of requests */
