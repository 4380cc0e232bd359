/*
 * Server URLs: http://…, https://… or unix:PATH, and the defaults.
 *
 * WAYBILL_URL names the server.  Without it WAYBILL_DATA names a data directory, and the server is
 * the one at its socket.  With neither it is the one at the socket of the default directory
 * (/var/lib/waybill for root, ~/.local/share/waybill for others) if that exists, else
 * http://127.0.0.1:6769.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define CLIENT_SOCKET_NAME "waybill.sock"
#define CLIENT_URL_DEFAULT "http://127.0.0.1:6769"

struct client_url {
    char *text;   /* as it was given, for messages */
    char *base;   /* paths are appended to it; without a slash at its end */
    char *socket; /* path of the Unix socket, or NULL */
    bool nearby;  /* a socket or a loopback address: no proxy in between */
    bool secret;  /* nobody on the network can read it: nearby, or https */
};

void client_url_deinit(struct client_url *u);
CLEANUP_BY_DEINIT(client_url)

/* E_INVALID: none of the three forms, or it has a user, a query or a fragment. */
MUST_CHECK enum err_code client_url_parse(const char *text, struct client_url *ret_url,
                                          struct err *err);

/* `url` if given, else the socket in `data_dir` if given, else the defaults above. */
MUST_CHECK enum err_code client_url_choose(const char *url, const char *data_dir,
                                           struct client_url *ret_url, struct err *err);

/* The data directory (free it): `given`, else WAYBILL_DATA, else the default. */
MUST_CHECK enum err_code client_data_dir(const char *given, char **ret_dir, struct err *err);
MUST_CHECK enum err_code client_default_data_dir(char **ret_dir, struct err *err);

/* Adds a piece of a path or a query, percent-encoded except for letters, digits and -._~ */
void client_add_escaped(struct buf *b, struct slice piece);
