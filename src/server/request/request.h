/*
 * A request, from its header to its reply.
 *
 * It begins when its head is complete (route, rights and sizes are checked then), takes its body,
 * is passed to its route's handler, and is answered, at once or after the engine or a reader has
 * processed it.  Meanwhile its change or reading belongs to that thread; all else belongs to the
 * HTTP thread.  Slices into body, path, parameters and headers live as long as it does.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/op.h"
#include "engine/reads/query.h"
#include "server/http/headers.h"
#include "server/http/target.h"
#include "server/request/routes.h"
#include "server/threads/engine_thread.h"
#include "server/threads/readers.h"

struct connection;
struct http_framing;
struct server;
struct spool;

enum request_phase {
    REQUEST_BODY,      /* its body is coming in */
    REQUEST_WORKING,   /* the engine or a reader has it */
    REQUEST_ANSWERED,  /* err, or status and reply, say what to send */
    REQUEST_STREAMING, /* the reply is made while it is sent */
};

enum request_cargo { CARGO_NONE, CARGO_CHANGE, CARGO_READING };

typedef void request_fn(struct request *r);

/* Makes the next part of a stream, at most `max` bytes.  Returns how many, or one of these. */
typedef ssize_t stream_fn(struct request *r, char *to, size_t max);

enum {
    STREAM_WAIT = 0,  /* nothing now: request_wake when there is more */
    STREAM_END = -1,  /* that was all */
    STREAM_FAIL = -2, /* the rest is lost: the connection is closed */
};

enum stream_state { STREAM_OPEN, STREAM_OVER, STREAM_BROKEN };

#define STREAM_ENDLESS UINT64_MAX /* the length is unknown */

struct stream {
    stream_fn *read; /* NULL: the reply is whole */
    uint64_t left;   /* or STREAM_ENDLESS */
    bool chunked;
    bool is_held; /* waits for memory, not for data */
    enum stream_state state;
};

struct object;

struct request {
    struct server *server;
    struct connection *connection;
    const struct route *route;         /* NULL: none was found */
    struct slice args[ROUTE_ARGS_MAX]; /* values of {…} in the path */
    struct target target;
    struct headers headers;
    enum right right;
    enum request_phase phase;
    int64_t begun_at;
    int64_t delay_us; /* the reply is held back */
    bool is_1_0;
    bool is_head;         /* HEAD: no body goes back */
    bool keeps_alive;     /* the client wants to keep the connection */
    bool closes;          /* what follows is not read as a request */
    bool awaits_continue; /* the client waits before it sends the body */
    bool is_away;         /* another thread has its change or reading */

    struct buf body;
    struct spool *spool; /* instead of `body`, for a long NDJSON body */
    bool lines;          /* the body is NDJSON */
    size_t body_seen;
    size_t body_counted; /* in http.body_bytes */
    size_t body_max;

    struct err err;
    const struct err *all_errs; /* where `err` is one of several: all of them, in the op's arena */
    size_t n_errs;
    int status;       /* 0: by err */
    const char *type; /* of the reply; NULL: JSON */
    struct buf reply;
    struct stream stream; /* instead of `reply` */
    struct buf fields;    /* further header fields of the reply */
    char note[64];        /* E_METHOD: value of Allow; E_RANGE: value of Content-Range */

    enum request_cargo cargo;
    union {
        struct engine_request change;
        struct reading reading;
    };
    request_fn *then;    /* when the cargo is back; NULL: answer with it */
    request_fn *cleanup; /* when the request is over; frees `state` */
    void *state;         /* the handler's own */
    char text[];         /* of the head */
};

/* ---- for connection.c ---- */

/* Checks the head.  Never fails: r->err has what is wrong and becomes the reply. */
struct request *request_begin(struct server *server, struct connection *connection,
                              struct slice head);

/* A request with a malformed head; `status` 0: by the error. */
struct request *request_refused(struct server *server, struct connection *connection, int status,
                                const struct err *err);

void request_free(struct request *r);

/* True when the refusal is to be sent now, without reading what is left of the body. */
bool request_refuses_rest(const struct request *r, const struct http_framing *framing);

/* Keeps a part of the body, or skips it when the body is refused or not wanted. */
void request_take_body(struct request *r, struct slice data);

/* Judges the announced length: E_TOO_LARGE for this route, E_UNAVAILABLE when other bodies
 * leave no room for it now.  The length is not counted: announcing alone takes no memory from
 * others. */
MUST_CHECK enum err_code request_check_length(const struct request *r, struct err *err);

/* Refuses a body whose chunks are malformed. */
void request_refuse_chunks(struct request *r);

/* Another thread holds it: neither it nor its connection may be freed. */
static inline bool request_is_away(const struct request *r)
{
    return r->phase == REQUEST_WORKING || r->is_away;
}

/* Forgets the body and gives back what it counted for. */
void request_drop_body(struct request *r);

/* The body is there: calls the handler. */
void request_dispatch(struct request *r);

/* ---- for handlers ---- */

/* The body as JSON; an empty body is {} where the route allows it.  E_BAD_REQUEST. */
MUST_CHECK enum err_code request_json(struct request *r, struct slice *ret_value, struct err *err);

/* The same, which must be an object.  E_INVALID. */
MUST_CHECK enum err_code request_object(struct request *r, struct slice *ret_object,
                                        struct err *err);

/* The body read by its table.  E_BAD_REQUEST when it is no JSON, E_INVALID for what the table
 * refuses. */
MUST_CHECK enum err_code request_body(struct request *r, const struct object *table, void *to,
                                      struct arena *arena, struct err *err);

/* Refuses parameters that the route does not have, duplicates, and bytes that are not UTF-8.
 * request_dispatch calls it. */
MUST_CHECK enum err_code request_check_params(struct request *r, struct err *err);

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

/* There is a reply, or more of a stream: the connection continues at the end of the pass. */
void request_wake(struct request *r);
