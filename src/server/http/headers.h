/*
 * The header fields of a request that mean something here.
 *
 * A field that decides where the request ends, whom it is for or who sent it may come once: two of
 * them could be read in two ways.  Other fields are ignored.  Slices live as long as the head they
 * lie in.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "server/request/auth.h"

struct headers {
    struct auth_request auth;
    struct slice content_type;
    struct slice idempotency_key;
    struct slice range;
    struct slice expect;
    struct slice content_length;
    struct slice transfer_encoding;
    uint64_t length; /* Content-Length; 0 when there is none */
    bool chunked;    /* Transfer-Encoding: chunked */
    bool close;      /* of Connection */
    bool keep_alive;
};

/* Takes one field.  E_BAD_REQUEST when it may not come twice and does. */
MUST_CHECK enum err_code headers_add(struct headers *h, struct slice name, struct slice value,
                                     struct err *err);

/* After the last field: sets length and chunked.  E_BAD_REQUEST when the end of the body is in
 * doubt. */
MUST_CHECK enum err_code headers_finish(struct headers *h, struct err *err);

static inline bool headers_announce_body(const struct headers *h)
{
    return h->chunked || h->length > 0;
}
