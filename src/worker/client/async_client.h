/*
 * The worker's link to its server: HTTP requests that do not block, in a libuv loop.
 *
 * Every call is answered once through `done`, from the loop and never from inside link_send: with the
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

struct link;
struct link_request;

struct link_reply {
    struct err err; /* E_OK: a 2xx answer */
    int status;     /* 0: there was none */
    struct slice text;
};

typedef void link_done_fn(void *ctx, const struct link_reply *reply);

struct link_call {
    const char *method; /* NULL: GET */
    const char *path;
    struct slice body; /* copied; data NULL: none */
    const char *type;  /* of the body; NULL: application/json */
    int patience_s;    /* until the whole answer is there; 0: CLIENT_PATIENCE_S */
    link_done_fn *done;
    void *ctx;
};

MUST_CHECK enum err_code link_new(uv_loop_t *loop, const struct client_config *config,
                                  struct link **ret_link, struct err *err);

/* Calls under way are forgotten: their `done` is not called.  Memory goes when the loop has run on. */
void link_free(struct link *l);

/* The server as people write it, for messages. */
const char *link_server(const struct link *l);

/* The request is valid until `done` is called. */
struct link_request *link_send(struct link *l, const struct link_call *call);

/* Its `done` is not called; what it asked for may happen all the same. */
void link_cancel(struct link_request *r);
