/* SPDX-License-Identifier: MIT */
#include "base/text/printable.h"

#include <stdint.h>

#include "base/compiler.h"
#include "base/text/utf8.h"

/* What turns the direction of text, breaks its line, or is there and not to be seen. */
static const struct {
    uint32_t first, last;
} misleading[] = {
    {0x061C, 0x061C}, {0x200E, 0x200F}, {0x2028, 0x202E},
    {0x2066, 0x2069}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE007F}, /* tags */
};

/* The number of a well-formed character. */
static uint32_t code_of(const char *at, size_t size)
{
    const unsigned char *byte = (const unsigned char *)at;
    uint32_t code = size == 1 ? byte[0] : byte[0] & (0x7FU >> size);

    for (size_t i = 1; i < size; i++)
        code = code << 6 | (byte[i] & 0x3FU);
    return code;
}

bool is_control(const char *at, size_t size)
{
    uint32_t code = size == 0 ? UINT32_MAX : code_of(at, size);

    return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

bool printable(const char *at, size_t size)
{
    if (size == 0 || is_control(at, size))
        return false;
    uint32_t code = code_of(at, size);

    for (size_t i = 0; i < ARRAY_LEN(misleading); i++)
        if (code >= misleading[i].first && code <= misleading[i].last)
            return false;
    return true;
}

void printable_escape(struct buf *b, const char *at, size_t size)
{
    if (size <= 1) {
        buf_addf(b, "\\x%02x", (unsigned)(unsigned char)*at);
        return;
    }
    uint32_t code = code_of(at, size);

    if (size < 4)
        buf_addf(b, "\\u%04x", (unsigned)code);
    else
        buf_addf(b, "\\u%04x\\u%04x", (unsigned)(0xD800 + ((code - 0x10000) >> 10)),
                 (unsigned)(0xDC00 + (code & 0x3FF)));
}
