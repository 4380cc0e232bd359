/*
 * The HTTP client: how the command line and the worker speak to a server.
 *
 * Calls block.  A 2xx answer is success; anything else comes back as the error that the server named,
 * with its message.  E_UNAVAILABLE also when there is no server, or the connection broke: then nobody
 * knows whether the request took effect.  Redirects are not followed, and the token goes to the
 * server named in the URL only: by https, a Unix socket or a loopback address, unless told otherwise.  A process
 * that has taken a token cannot be looked into by others of its user.
 *
 * A client belongs to one thread.  It keeps its connection from call to call.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define CLIENT_REPLY_MAX ((size_t)80 << 20)
#define CLIENT_PATIENCE_S 100 /* above the server's longest wait */

struct client;

struct client_config {
    const char *url;      /* NULL: as client_url_choose says */
    const char *data_dir; /* NULL: not named */
    const char *token;    /* NULL: WAYBILL_TOKEN */
    bool insecure;        /* the token may be sent in the clear; else WAYBILL_INSECURE says so */
    const char *option;   /* of the command line, that names the server; NULL: --url */
};

/* Takes a piece of the answer; false: enough, the call ends well. */
typedef bool client_data_fn(void *ctx, struct slice data);

struct client_request {
    const char *method; /* NULL: GET */
    const char *path;   /* /v1/…, escaped, with its query */
    struct slice body;  /* data NULL: none */
    const char *type;   /* of the body; NULL: application/json */
    const char *range;  /* bytes wanted: `0-99`, `-100`; NULL: all */
    int patience_s;     /* silence that ends the call; 0: CLIENT_PATIENCE_S, < 0: for ever */

    /* A successful answer goes here piece by piece, and not into the reply.  NULL: into the reply. */
    client_data_fn *on_data;
    void *ctx;
};

struct client_reply {
    int status;
    struct buf text;     /* as it came */
    json_t *json;        /* NULL when it is not JSON */
    int64_t range_first; /* of a part: the place of its first byte; else 0 */
};

#define CLIENT_REPLY_INIT ((struct client_reply){.text = BUF_INIT(CLIENT_REPLY_MAX)})

void client_reply_deinit(struct client_reply *r);
static inline void client_reply_cleanup(struct client_reply *r)
{
    client_reply_deinit(r);
}

/* Connects to nothing yet.  E_INVALID: a bad URL, a token that no header can carry, or one that would be
 * sent over a network in the clear. */
MUST_CHECK enum err_code client_open(const struct client_config *config, struct client **ret_client,
                                     struct err *err);
void client_close(struct client *c); /* NULL is fine */
static inline void client_cleanup(struct client **c)
{
    client_close(*c);
}

/* The server as people write it, for messages. */
const char *client_server(const struct client *c);

/* True when it is reached over its Unix socket. */
bool client_is_local(const struct client *c);

/* Fills an empty reply (init before, deinit after).  On failure the reply has the status, if any. */
MUST_CHECK enum err_code client_call(struct client *c, const struct client_request *request,
                                     struct client_reply *reply, struct err *err);
