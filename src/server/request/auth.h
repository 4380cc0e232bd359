/*
 * Who may do what: the socket a request came by, its token, and the web page it may have come
 * from.
 *
 * - The Unix socket, or the one token, is the administrator.
 * - A wrong token is refused over TCP on every route, also where none is needed.
 * - Without a token a TCP request has ordinary rights on a loopback address, and none beyond it.
 * - A request that a browser sent for a page of another origin is refused, whatever it carries.
 *   One
 *   without Origin, Referer and Sec-Fetch-Site comes from a program.
 * - A trigger that is open to the sender's address needs no token beyond loopback either.
 * - A Host that is not ours is refused: a foreign name may point to this address.
 *
 * Pure.  `settings` does not change once the server is ready.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"

enum right {
    RIGHT_OPEN = 1, /* anybody: health */
    RIGHT_USER,
    RIGHT_ADMIN,
};

struct auth_settings {
    VEC(struct slice) names;  /* `server.names`: NAME, or NAME:PORT for an origin with that port */
    struct slice listen_host; /* as configured, without brackets */
    uint16_t port;            /* of the TCP address; 0: none */
    struct slice url;         /* base of full ids: its origin is ours */
    struct slice token;       /* empty: none */
    bool beyond_loopback;     /* some TCP address of ours is not loopback */
    bool any_address;         /* it is a wildcard: any address is ours */
};

/* Values of headers, data NULL when they are not there. */
struct auth_request {
    bool local;  /* came by the Unix socket */
    bool opened; /* what it asks for is open to where it comes from (triggers.h) */
    struct slice host;
    struct slice origin;
    struct slice referer;
    struct slice fetch_site;
    struct slice authorization;
};

enum token_seen {
    TOKEN_NONE, /* none came, or this server has none that could be guessed */
    TOKEN_RIGHT,
    TOKEN_WRONG,
};

/* What the request's Authorization holds, whatever else speaks for or against the request. */
enum token_seen auth_token_seen(const struct auth_settings *settings,
                                const struct auth_request *request);

/* What the request may do, at least `needed`.  E_FORBIDDEN or E_UNAUTHORIZED otherwise. */
MUST_CHECK enum err_code auth_judge(const struct auth_settings *settings,
                                    const struct auth_request *request, enum right needed,
                                    enum right *ret_right, struct err *err);

/* 127.0.0.0/8, ::1 (also in brackets), localhost and names below it. */
bool auth_is_loopback(struct slice host);

/* Compares in a time that does not depend on how many bytes are equal. */
bool auth_token_equal(struct slice given, struct slice token);
