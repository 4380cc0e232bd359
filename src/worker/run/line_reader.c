/* SPDX-License-Identifier: MIT */
#include "worker/run/line_reader.h"

#include <string.h>

void line_reader_deinit(struct line_reader *r)
{
    buf_deinit(&r->held);
}

void line_reader_feed(struct line_reader *r, struct slice piece)
{
    ASSERT(r->piece.size == 0 && !r->ended);
    r->piece = piece;
}

void line_reader_end(struct line_reader *r)
{
    r->ended = true;
}

/* Keeps the bytes of an incomplete line, or only counts them when it is too long. */
static void hold(struct line_reader *r, struct slice bytes)
{
    size_t whole = r->held.size + bytes.size;

    if (r->skipped == 0 && whole <= r->limit + 1) { /* one more, for a CR */
        buf_add_slice(&r->held, bytes);
        return;
    }
    r->skipped += whole;
    buf_clear(&r->held);
}

/* Returns the line that ends with `bytes`. */
static void complete(struct line_reader *r, struct slice bytes, struct line *ret_line)
{
    struct slice text = bytes;

    if (r->skipped > 0 || r->held.size > 0) {
        hold(r, bytes);
        text = buf_slice(&r->held);
        r->given = true;
    }
    if (text.size > 0 && text.data[text.size - 1] == '\r')
        text.size--;
    if (r->skipped == 0 && text.size > r->limit)
        r->skipped = text.size;
    *ret_line = (struct line){.text = text};
    if (r->skipped > 0)
        *ret_line = (struct line){.skipped = r->skipped};
    r->skipped = 0;
}

bool line_reader_next(struct line_reader *r, struct line *ret_line)
{
    struct slice piece = r->piece;

    if (r->given) {
        buf_clear(&r->held);
        r->given = false;
    }
    const char *end = piece.size > 0 ? memchr(piece.data, '\n', piece.size) : NULL;

    if (end != NULL) {
        size_t size = (size_t)(end - piece.data);

        r->piece = slice_make(end + 1, piece.size - size - 1);
        complete(r, slice_make(piece.data, size), ret_line);
        return true;
    }
    if (piece.size > 0)
        hold(r, piece);
    r->piece = slice_make(NULL, 0);
    if (!r->ended || (r->held.size == 0 && r->skipped == 0))
        return false;
    complete(r, slice_make(NULL, 0), ret_line);
    return true;
}
