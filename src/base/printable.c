/* SPDX-License-Identifier: MIT */
#include "base/printable.h"

#include "base/utf8.h"

/* The number of a well-formed character of at most 3 bytes. */
static unsigned code_of(const char *at, size_t size)
{
    const unsigned char *byte = (const unsigned char *)at;

    if (size == 1)
        return byte[0];
    if (size == 2)
        return (byte[0] & 0x1FU) << 6 | (byte[1] & 0x3FU);
    return (byte[0] & 0x0FU) << 12 | (byte[1] & 0x3FU) << 6 | (byte[2] & 0x3FU);
}

bool printable(const char *at, size_t size)
{
    if (size == 0)
        return false;
    if (size == 4)
        return true;
    unsigned code = code_of(at, size);
    bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);

    return !control && !turns;
}

void printable_escape(struct buf *b, const char *at, size_t size)
{
    if (size <= 1)
        buf_addf(b, "\\x%02x", (unsigned)(unsigned char)*at);
    else
        buf_addf(b, "\\u%04x", code_of(at, size));
}
