/*
 * The worker's client to its server: HTTP requests that do not block, in a libuv loop.
 *
 * Every call is answered once through `done`, from the loop and never from inside async_client_send: with the
 * server's reply, or with the error that the server named, or with E_UNAVAILABLE when nobody knows
 * whether the request took effect.  Calls run side by side, each on a connection of its own; connections
 * are kept.  One thread, the loop's.
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
    struct err err; /* E_OK: a 2xx answer */
    int status;     /* 0: there was none */
    struct slice text;
};

typedef void async_done_fn(void *ctx, const struct async_reply *reply);

struct async_call {
    const char *method; /* NULL: GET */
    const char *path;
    struct slice body; /* copied; data NULL: none */
    const char *type;  /* of the body; NULL: application/json */
    int patience_s;    /* until the whole answer is there; 0: CLIENT_PATIENCE_S */
    async_done_fn *done;
    void *ctx;
};

MUST_CHECK enum err_code async_client_new(uv_loop_t *loop, const struct client_config *config,
                                          struct async_client **ret_client, struct err *err);

/* Calls under way are forgotten: their `done` is not called.  Memory goes when the loop has run on. */
void async_client_free(struct async_client *l);

/* The server as people write it, for messages. */
const char *async_client_server(const struct async_client *l);

/* The request is valid until `done` is called. */
struct async_request *async_client_send(struct async_client *l, const struct async_call *call);

/* Its `done` is not called; what it asked for may happen all the same. */
void async_client_cancel(struct async_request *r);
