/*
 * Replies: what goes back to the client, from a request that has been answered.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <microhttpd.h>

#include "base/buf.h"
#include "base/err.h"

struct request;

#define TYPE_JSON "application/json"
#define TYPE_LINES "application/x-ndjson"
#define TYPE_TEXT "text/plain; charset=utf-8"
#define TYPE_EVENTS "text/event-stream"
#define TYPE_METRICS "text/plain; version=0.0.4; charset=utf-8"

/* Queues the answer of a request that is ANSWERED or STREAMING. */
MUST_CHECK enum MHD_Result reply_send(struct request *r);

/* {"error":{"code","message","detail"?}} */
void reply_error(struct buf *out, const struct err *err);

/* Makes r->response from a callback, `size` or MHD_SIZE_UNKNOWN bytes long.  The request is its context:
 * it outlives the response's use of it. */
void reply_stream(struct request *r, uint64_t size, const char *type,
                  MHD_ContentReaderCallback reader);

/* To r->response. */
void reply_header(struct request *r, const char *name, const char *value);
