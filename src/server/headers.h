/*
 * The headers of a request that mean something here, gathered in one walk.
 *
 * Slices live as long as the request.  HTTP thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "server/auth.h"

struct MHD_Connection;

struct headers {
    struct auth_request auth;
    struct slice content_type;
    struct slice idempotency_key;
    struct slice range;
    bool has_length;
    uint64_t length; /* Content-Length; UINT64_MAX when it is no number */
    bool chunked;    /* Transfer-Encoding */
    bool expects;    /* Expect: the client waits before it sends the body */
    bool ambiguous;  /* where the request ends, or whom it is for, can be read in two ways */
};

void headers_gather(struct headers *h, struct MHD_Connection *connection);

static inline bool headers_announce_body(const struct headers *h)
{
    return h->chunked || h->length > 0;
}
