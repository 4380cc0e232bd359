/*
 * The asynchronous HTTP client: requests in a libuv loop.
 *
 * Every call ends once through `done`, from the loop and never from inside async_client_send: with
 * the server's reply, with the error that the server named, or with E_UNAVAILABLE when it is
 * unknown whether the request took effect.  Calls run in parallel, each on its own connection;
 * connections are kept.  One thread, the loop's.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <uv.h>

#include "base/err.h"
#include "base/slice.h"
#include "worker/client/client.h"

struct async_client;
struct async_request;

struct async_reply {
    struct err err; /* E_OK: a 2xx reply */
    int status;     /* 0: no reply */
    struct slice text;
};

typedef void async_done_fn(void *ctx, const struct async_reply *reply);

struct async_call {
    const char *method; /* NULL: GET */
    const char *path;
    struct slice body; /* copied; data NULL: none */
    const char *type;  /* of the body; NULL: application/json */
    int patience_s;    /* for the whole reply; 0: CLIENT_PATIENCE_S */
    async_done_fn *done;
    void *ctx;
};

MUST_CHECK enum err_code async_client_new(uv_loop_t *loop, const struct client_config *config,
                                          struct async_client **ret_client, struct err *err);

/* Cancels all calls under way.  The memory is freed when the loop runs next. */
void async_client_free(struct async_client *l);

/* The server's URL as it was given, for messages. */
const char *async_client_server(const struct async_client *l);

/* The request is valid until `done` is called. */
struct async_request *async_client_send(struct async_client *l, const struct async_call *call);

/* Its `done` will not be called; the server may carry out the request anyway. */
void async_client_cancel(struct async_request *r);
