/* SPDX-License-Identifier: MIT */
#include "server/http/framing.h"

#include "base/compiler.h"
#include "base/text/hex.h"
#include "server/limits.h"

enum { SIZE_DIGITS_MAX = 8 };

static void begin_chunk(struct http_framing *f)
{
    f->state = FRAMING_SIZE;
    f->digits = 0;
    f->left = 0;
}

void http_framing_begin(struct http_framing *f, const struct headers *headers)
{
    *f = (struct http_framing){.state = FRAMING_DATA,
                               .chunked = headers->chunked,
                               .left = headers->length};
    if (f->chunked)
        begin_chunk(f);
    else if (f->left == 0)
        f->state = FRAMING_END;
}

static bool take_size(struct http_framing *f, char c)
{
    int value = hex_value(c);

    if (value >= 0) {
        f->left = f->left << 4 | (unsigned)value;
        return ++f->digits <= SIZE_DIGITS_MAX;
    }
    if (c == ';')
        f->state = FRAMING_EXTENSION;
    else
        f->state = FRAMING_SIZE_LF;
    return f->digits > 0 && (c == '\r' || c == ';');
}

static bool take_extension(struct http_framing *f, char c)
{
    if (c == '\r') {
        f->state = FRAMING_SIZE_LF;
        return true;
    }
    bool is_text = (unsigned char)c >= ' ' ? c != 0x7F : c == '\t';

    return is_text && ++f->extra <= CHUNK_EXTRA_MAX;
}

/* Takes a byte that is not part of the body.  False when it is not allowed there. */
static bool take_byte(struct http_framing *f, char c)
{
    switch (f->state) {
    case FRAMING_SIZE: return take_size(f, c);
    case FRAMING_EXTENSION: return take_extension(f, c);
    case FRAMING_SIZE_LF: f->state = f->left > 0 ? FRAMING_DATA : FRAMING_LAST_CR; return c == '\n';
    case FRAMING_DATA_CR: f->state = FRAMING_DATA_LF; return c == '\r';
    case FRAMING_DATA_LF: begin_chunk(f); return c == '\n';
    case FRAMING_LAST_CR: f->state = FRAMING_LAST_LF; return c == '\r';
    case FRAMING_LAST_LF: f->state = FRAMING_END; return c == '\n';
    case FRAMING_DATA:
    case FRAMING_END: break;
    }
    return false;
}

static struct slice take_data(struct http_framing *f, struct slice input)
{
    size_t n = f->left < input.size ? (size_t)f->left : input.size;

    f->left -= n;
    if (f->left == 0)
        f->state = f->chunked ? FRAMING_DATA_CR : FRAMING_END;
    return slice_make(input.data, n);
}

enum http_framing_step http_framing_step(struct http_framing *f, struct slice input,
                                         size_t *ret_used, struct slice *ret_piece)
{
    size_t used = 0;

    while (f->state != FRAMING_END && f->state != FRAMING_DATA && used < input.size)
        if (!take_byte(f, input.data[used++]))
            return FRAMING_BAD;
    if (f->state == FRAMING_DATA && used < input.size) {
        *ret_piece = take_data(f, slice_make(input.data + used, input.size - used));
        *ret_used = used + ret_piece->size;
        return FRAMING_PIECE;
    }
    *ret_used = used;
    return f->state == FRAMING_END ? FRAMING_DONE : FRAMING_MORE;
}
