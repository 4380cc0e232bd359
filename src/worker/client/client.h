/*
 * The blocking HTTP client of the command line.
 *
 * A 2xx reply is success; anything else becomes the error that the server named, with its message.
 * E_UNAVAILABLE also means no server or a broken connection: then it is unknown whether the request
 * took effect.  Redirects are not followed.  The token is sent only to the server named in the URL,
 * and only by https, a Unix socket or a loopback address, unless configured otherwise.  A process
 * that has read a token cannot be inspected by other processes of its user.
 *
 * A client belongs to one thread and keeps its connection between calls.
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
    const char *url;      /* NULL: chosen by client_url_choose */
    const char *data_dir; /* NULL: not given */
    const char *token;    /* NULL: WAYBILL_TOKEN */
    bool insecure;        /* allows sending the token unencrypted, as WAYBILL_INSECURE does */
    const char *option;   /* the command-line option for the server, in messages; NULL: --url */
};

/* Takes a piece of the reply; false: enough, the call succeeds. */
typedef bool client_data_fn(void *ctx, struct slice data);

struct client_request {
    const char *method; /* NULL: GET */
    const char *path;   /* /v1/…, escaped, with the query */
    struct slice body;  /* data NULL: none */
    const char *type;   /* of the body; NULL: application/json */
    const char *range;  /* of bytes: `0-99`, `-100`; NULL: all */
    int patience_s;     /* maximum silence; 0: CLIENT_PATIENCE_S, < 0: no limit */

    /* Receives a successful reply piece by piece.  NULL: it is stored in the reply. */
    client_data_fn *on_data;
    void *ctx;
};

struct client_reply {
    int status;
    struct buf text;     /* the body */
    json_t *json;        /* NULL: not JSON */
    int64_t range_first; /* offset of the first byte of a partial reply; else 0 */
};

#define CLIENT_REPLY_INIT ((struct client_reply){.text = BUF_INIT(CLIENT_REPLY_MAX)})

void client_reply_deinit(struct client_reply *r);
CLEANUP_BY_DEINIT(client_reply)

/* Does not connect yet.  E_INVALID: a bad URL, a token that no header can carry, or one that
 * would be sent over a network unencrypted. */
MUST_CHECK enum err_code client_open(const struct client_config *config, struct client **ret_client,
                                     struct err *err);
void client_close(struct client *c); /* accepts NULL */
static inline void client_cleanup(struct client **c)
{
    client_close(*c);
}

/* The server as people write it, for messages. */
const char *client_server(const struct client *c);

/* True when the server is reached over its Unix socket. */
bool client_is_local(const struct client *c);

/* Fills an empty reply (init before, deinit after).  On failure it has the status, if any. */
MUST_CHECK enum err_code client_call(struct client *c, const struct client_request *request,
                                     struct client_reply *reply, struct err *err);
