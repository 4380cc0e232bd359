/*
 * Replies: what goes back to the client, from a request that has been answered.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "server/request/request.h"

#define TYPE_JSON "application/json"
#define TYPE_LINES "application/x-ndjson"
#define TYPE_TEXT "text/plain; charset=utf-8"
#define TYPE_EVENTS "text/event-stream"
#define TYPE_METRICS "text/plain; version=0.0.4; charset=utf-8"

/* {"error":{"code","message","detail"?}}; `all` that is wrong, if there is any, is
 * `detail.errors`. */
void reply_errors(struct buf *out, const struct err *err, const struct err *all, size_t n);

/* The reply will come from `read`, `size` bytes in all or STREAM_ENDLESS.  The request is
 * STREAMING from now on. */
void reply_stream(struct request *r, uint64_t size, const char *type, stream_fn *read);

/* One more header field of the reply. */
void reply_header(struct request *r, const char *name, const char *value);

/* ---- for connection.c ---- */

/* Writes the head of the reply, and the beginning of a stream; returns the body of one that is
 * whole, which lies in the request. */
struct slice reply_begin(struct request *r, bool is_last, struct buf *out);

/* Adds what there is of the stream, about STREAM_BLOCK bytes at most. */
void reply_continue(struct request *r, struct buf *out);
