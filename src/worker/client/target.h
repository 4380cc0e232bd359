/*
 * What the blocking and the asynchronous client share: the server's address, its socket and the
 * token.  A target prepares libcurl's handles and reads the server's errors.
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
    const char *option; /* the command-line option for another server, in messages */
    bool by_data_dir;   /* chosen by a data directory, not by WAYBILL_URL */
    char *token;        /* or NULL */
    int socket_dir;     /* descriptor of the socket's directory, when its path is too long; or -1 */
    char *socket;       /* the short path, or NULL */
};

/* E_INVALID: a bad URL, or a token that no header can carry. */
MUST_CHECK enum err_code client_target_open(const struct client_config *config,
                                            struct client_target *ret_target, struct err *err);
void client_target_close(struct client_target *t);

/* Sets the URL for `path`, and how the server is reached. */
void client_target_set_url(const struct client_target *t, CURL *curl, const char *path);

/* Headers for a body of that type (NULL: no body); the caller frees the list. */
struct curl_slist *client_target_headers(const struct client_target *t, const char *type);

/* Method and body as in client_request.  The body is not copied. */
void client_set_method(CURL *curl, const char *method, struct slice body);

/* Maximum silence; 0: CLIENT_PATIENCE_S, < 0: no limit. */
void client_set_patience(CURL *curl, int patience_s);

/* The error of a call without a reply.  `problem` is libcurl's text, or "". */
enum err_code client_transport_error(const struct client_target *t, CURL *curl, CURLcode code,
                                     const char *problem, struct err *err);

/* The error of a reply that is not 2xx. */
enum err_code client_server_error(const struct client_target *t, int status, struct slice text,
                                  struct err *err);

static inline bool client_is_success(long status)
{
    return status >= 200 && status < 300;
}
