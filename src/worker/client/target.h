/*
 * Where requests go and what they carry along: what the blocking and the asynchronous client share.
 *
 * A target is the server's address, its socket and the token.  It prepares libcurl's handles and reads
 * what the server says when it refuses.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <curl/curl.h>

#include "base/err.h"
#include "base/slice.h"
#include "worker/client/client.h"
#include "worker/client/url.h"

struct client_target {
    struct client_url url;
    const char *option; /* names another server */
    bool by_data_dir;   /* a data directory was named, so that WAYBILL_URL is not looked at */
    char *token;        /* or NULL */
    int socket_dir;     /* of a socket whose path is too long for an address, or -1 */
    char *socket;       /* the path that fits, or NULL */
};

/* E_INVALID: a bad URL, or a token that no header can carry. */
MUST_CHECK enum err_code client_target_open(const struct client_config *config,
                                            struct client_target *ret_target, struct err *err);
void client_target_close(struct client_target *t);

/* The URL of `path`, and how its server is reached. */
void client_target_set_url(const struct client_target *t, CURL *curl, const char *path);

/* Headers for a body of that type (NULL: none); the caller frees the list. */
struct curl_slist *client_target_headers(const struct client_target *t, const char *type);

/* Method and body: as in client_request.  The body is not copied. */
void client_set_method(CURL *curl, const char *method, struct slice body);

/* Silence that ends the call; 0: CLIENT_PATIENCE_S, < 0: for ever. */
void client_set_patience(CURL *curl, int patience_s);

/* A call that got no answer.  `problem` is libcurl's own text, or "". */
enum err_code client_transport_error(const struct client_target *t, CURL *curl, CURLcode code,
                                     const char *problem, struct err *err);

/* The error in an answer that is not 2xx. */
enum err_code client_server_error(const struct client_target *t, int status, struct slice text,
                                  struct err *err);

static inline bool client_is_success(long status)
{
    return status >= 200 && status < 300;
}
