/*
 * The head of a request: request line and header fields, read strictly.
 *
 * Whatever two readers could understand differently is refused, never repaired: bare CR or LF,
 * control characters, folded lines, space before a colon or around the request line's parts,
 * doubled fields that matter.  The connection must be closed after a refused head: the bytes that
 * follow are not a request.
 *
 * http_head_scan finds the end as bytes come in, then http_head_parse parses the whole.  The
 * result does not depend on how the bytes were split.  Pure: no I/O, allocates nothing; every byte
 * is read a fixed number of times.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"
#include "server/http/headers.h"

/* Progress of the search.  All zero at the beginning of a head. */
struct http_head_scan {
    size_t begin;   /* empty lines in front are skipped */
    size_t line_at; /* begin of the line that is being read */
    size_t at;      /* scanned so far */
    bool in_fields; /* the request line is complete */
};

enum http_head_state {
    HTTP_HEAD_MORE,  /* incomplete */
    HTTP_HEAD_WHOLE, /* from scan.begin to scan.at, with its empty line */
    HTTP_HEAD_BAD,   /* *err and *ret_status say why */
};

/* `input` begins where it began with the last call, and is longer. */
enum http_head_state http_head_scan(struct http_head_scan *scan, struct slice input,
                                    int *ret_status, struct err *err);

struct http_head {
    struct slice method;
    struct slice target; /* begins with a slash; still escaped */
    bool is_1_0;         /* HTTP/1.0 */
    struct headers headers;
};

/* `text` is what http_head_scan found to be whole.  Sets the HTTP status of a refusal where it
 * is not the code's. */
MUST_CHECK enum err_code http_head_parse(struct slice text, struct http_head *ret_head,
                                         int *ret_status, struct err *err);

/* The connection stays open behind this request, as far as the client is concerned. */
bool http_head_keeps_alive(const struct http_head *head);
