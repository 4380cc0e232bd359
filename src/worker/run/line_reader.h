/*
 * Splits bytes that arrive in pieces into lines.
 *
 * A line ends with LF, CR LF, or the end of the bytes; it may contain any other byte.  A line that
 * is longer than the limit is skipped and reported once, in its place.  Memory is bounded by the
 * limit.
 *
 *     line_reader_feed(&r, piece);
 *     while (line_reader_next(&r, &line)) …
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"

struct line_reader {
    struct buf held;    /* the beginning of an incomplete line */
    struct slice piece; /* the rest of the last piece; borrowed */
    size_t limit;       /* maximum bytes of a line, without its end */
    uint64_t skipped;   /* bytes skipped so far of a line that is too long */
    bool given;         /* `held` was returned as a line: clear it with the next call */
    bool ended;
};

struct line {
    struct slice text; /* valid until the next call */
    uint64_t skipped;  /* above 0: a line of that many bytes was too long; there is no text */
};

#define LINE_READER_INIT(max) ((struct line_reader){.held = BUF_INIT((max) + 1), .limit = (max)})

void line_reader_deinit(struct line_reader *r);

/* Borrows the piece until line_reader_next returns false; only then another one may be fed. */
void line_reader_feed(struct line_reader *r, struct slice piece);

/* There are no more bytes: an incomplete line counts as a line. */
void line_reader_end(struct line_reader *r);

/* The next line; false: feed more. */
bool line_reader_next(struct line_reader *r, struct line *ret_line);
