/*
 * A request, from its header to its reply.
 *
 * It is begun when its header is there (route, rights and sizes are judged then), takes its body, is
 * handed to its route's handler, and is answered, at once or after the engine or a reader has had it.
 * While it is WORKING its connection is suspended and its task or reading belongs to another thread; all
 * else belongs to the HTTP thread.  Slices into body, path, query and headers live as long as it does.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/op.h"
#include "engine/query.h"
#include "server/engine_thread.h"
#include "server/headers.h"
#include "server/readers.h"
#include "server/routes.h"

struct MHD_Connection;
struct MHD_Response;
struct peer;
struct server;
struct spool;

enum request_phase {
    REQUEST_BODY,      /* its body is coming in */
    REQUEST_WORKING,   /* the engine or a reader has it */
    REQUEST_ANSWERED,  /* err, or status and reply, or response, say what to send */
    REQUEST_STREAMING, /* the reply is being made while it is sent */
    REQUEST_SENT,
};

enum request_cargo { CARGO_NONE, CARGO_TASK, CARGO_READING };

typedef void request_fn(struct request *r);

struct request {
    struct server *server;
    struct peer *peer;
    struct MHD_Connection *connection;
    const struct route *route;
    struct slice args[ROUTE_ARGS_MAX]; /* what stands for {…} in the path */
    struct headers headers;
    enum right right;
    enum request_phase phase;
    int64_t begun_at;
    bool suspended;
    bool closes; /* the connection ends with the reply */

    struct buf body;
    struct spool *spool; /* instead of `body`, for a long NDJSON body */
    bool lines;          /* the body is NDJSON */
    size_t body_seen;
    size_t body_counted; /* in http.body_bytes */
    size_t body_max;

    struct err err;
    int status;       /* 0: by err */
    const char *type; /* of the reply; NULL: JSON */
    struct buf reply;
    struct MHD_Response *response; /* instead of `reply` */
    char note[64];                 /* E_METHOD: value of Allow; E_RANGE: value of Content-Range */

    enum request_cargo cargo;
    union {
        struct task task;
        struct reading reading;
    };
    request_fn *then;    /* when the cargo is home; NULL: answer with it */
    request_fn *cleanup; /* when the request is over; frees `state` */
    void *state;         /* the handler's own */
};

/* ---- for http.c ---- */

/* Judges what the header tells.  Never fails: what is wrong is in r->err and will be answered. */
struct request *request_begin(struct server *server, struct peer *peer,
                              struct MHD_Connection *connection, const char *method,
                              const char *path);
void request_free(struct request *r);

/* True when the refusal is to be sent now, without reading the body. */
bool request_refuses_body(const struct request *r);

/* False: the connection is to be closed. */
MUST_CHECK bool request_take_body(struct request *r, struct slice data);

/* Forgets the body and gives back what it counted for. */
void request_drop_body(struct request *r);

/* The body is there: calls the handler. */
void request_dispatch(struct request *r);

/* ---- for handlers ---- */

/* The body as JSON; nothing is {} where the route allows it.  E_BAD_REQUEST. */
MUST_CHECK enum err_code request_json(struct request *r, struct slice *ret_value, struct err *err);

/* The same, which must be an object.  E_INVALID. */
MUST_CHECK enum err_code request_object(struct request *r, struct slice *ret_object,
                                        struct err *err);

/* A value of the query string; data NULL when it was not given. */
struct slice request_param(struct request *r, const char *name);

/* `?wait=30s`: 0 when it was not given.  E_INVALID. */
MUST_CHECK enum err_code request_wait(struct request *r, int64_t *ret_wait_us, struct err *err);

/* The {id} of the path.  E_NOT_FOUND when it can be no id: `what` is "job". */
MUST_CHECK enum err_code request_id(struct request *r, const char *what, int64_t *ret_id,
                                    struct err *err);

/* Is it `1`, `true` or given without a value?  E_INVALID for other words but `0` and `false`. */
MUST_CHECK enum err_code request_flag(struct request *r, const char *name, bool *ret_flag,
                                      struct err *err);

/* Answers with r->reply, or with r->err when that is set. */
void request_answer(struct request *r, int status);

/* An op to be filled, then run.  `then` is called on the HTTP thread when it is done. */
struct op *request_op(struct request *r, enum op_kind kind);
void request_run(struct request *r, request_fn *then);

/* A query to be filled, then read.  `read` runs on a reader thread; NULL: query_run. */
struct query *request_query(struct request *r, enum query_kind kind);
void request_read(struct request *r, void (*read)(struct reading *reading, struct store *store),
                  request_fn *then);

/* Answers with what the op or the query has brought: the default of `then`. */
void request_answer_op(struct request *r);
void request_answer_query(struct request *r);

/* ---- suspended connections ---- */

void request_suspend(struct request *r);
void request_resume(struct request *r); /* also when it is not suspended */

/* A part of a stream goes out: the client has to take it in time. */
void request_moves(struct request *r);
