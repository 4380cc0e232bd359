/*
 * Where the body of a request ends: counted by Content-Length, or in chunks.
 *
 * Chunks are read strictly: a size of at most eight hex digits, CR LF behind each line and each
 * piece.  Extensions are passed over, within CHUNK_EXTRA_MAX bytes for a whole body; trailer
 * fields are refused.  Every byte is read once, so the result and the cost do not depend on how
 * the bytes were split.  Pure: no I/O, allocates nothing.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "server/http/headers.h"

enum http_framing_state {
    FRAMING_DATA, /* `left` bytes of the body, or of a chunk */
    FRAMING_SIZE,
    FRAMING_EXTENSION,
    FRAMING_SIZE_LF,
    FRAMING_DATA_CR,
    FRAMING_DATA_LF,
    FRAMING_LAST_CR, /* behind the last chunk */
    FRAMING_LAST_LF,
    FRAMING_END,
};

struct http_framing {
    enum http_framing_state state;
    bool chunked;
    unsigned digits; /* of the chunk's size */
    size_t extra;    /* bytes of extensions so far */
    uint64_t left;
};

enum http_framing_step {
    FRAMING_MORE,  /* all was used up, and the body goes on */
    FRAMING_PIECE, /* *ret_piece is a part of the body */
    FRAMING_DONE,  /* the body is complete; what is not used belongs to the next request */
    FRAMING_BAD,   /* its end is unknown: malformed */
};

void http_framing_begin(struct http_framing *f, const struct headers *headers);

/* Advances in `input` by *ret_used bytes. */
enum http_framing_step http_framing_step(struct http_framing *f, struct slice input,
                                         size_t *ret_used, struct slice *ret_piece);
