/*
 * Lines out of bytes that come in pieces.
 *
 * A line ends with LF, or CR LF, or where the bytes end; any other byte may be in it.  A line longer than
 * the limit is skipped, and told of once, in its place.  No byte is kept that belongs to no line, so that
 * memory is bounded by the limit.
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
    struct buf held;    /* the beginning of a line whose end has not come yet */
    struct slice piece; /* what is left of the last one; borrowed */
    size_t limit;       /* bytes of a line, its end not counted */
    uint64_t skipped;   /* bytes of the too long line that is being skipped */
    bool given;         /* `held` was handed out: it is emptied next time */
    bool ended;
};

struct line {
    struct slice text; /* valid until the next call */
    uint64_t skipped;  /* above 0: not a line, but so many bytes of one that was too long */
};

#define LINE_READER_INIT(max) ((struct line_reader){.held = BUF_INIT((max) + 1), .limit = (max)})

void line_reader_deinit(struct line_reader *r);

/* The piece is borrowed until line_reader_next has said false: not before may another one be fed. */
void line_reader_feed(struct line_reader *r, struct slice piece);

/* There is no more: what stands without an end is a line. */
void line_reader_end(struct line_reader *r);

/* The next line; false: feed more. */
bool line_reader_next(struct line_reader *r, struct line *ret_line);
