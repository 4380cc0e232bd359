/* SPDX-License-Identifier: MIT */
#include "base/text/base64.h"

#include <stdint.h>

void base64_add(struct buf *b, struct slice bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = (const unsigned char *)bytes.data;

    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t left = bytes.size - i;
        unsigned v = (unsigned)in[i] << 16 | (left > 1 ? (unsigned)in[i + 1] << 8 : 0) |
                     (left > 2 ? (unsigned)in[i + 2] : 0);
        char out[4] = {digits[v >> 18], digits[v >> 12 & 63], left > 1 ? digits[v >> 6 & 63] : '=',
                       left > 2 ? digits[v & 63] : '='};

        buf_add(b, out, sizeof(out));
    }
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+')
        return 62;
    return c == '/' ? 63 : -1;
}

/* Four characters, the last `padding` of which are '='.  Bits that would be lost must be zero. */
static bool decode_four(const char *from, size_t padding, char *to)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < 4; i++) {
        int value = i < 4 - padding ? value_of(from[i]) : 0;

        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
    }
    if ((padding == 1 && (bits & 0xFF) != 0) || (padding == 2 && (bits & 0xFFFF) != 0))
        return false;
    for (size_t i = 0; i < 3 - padding; i++)
        to[i] = (char)(bits >> (16 - 8 * i) & 0xFF);
    return true;
}

bool base64_decode(struct slice text, struct arena *arena, struct slice *ret_bytes)
{
    size_t padding = 0;

    if (text.size % 4 != 0)
        return false;
    while (padding < 2 && padding < text.size && text.data[text.size - 1 - padding] == '=')
        padding++;
    char *bytes = arena_alloc(arena, text.size / 4 * 3 + 1);

    for (size_t i = 0; i < text.size; i += 4)
        if (!decode_four(text.data + i, i + 4 == text.size ? padding : 0, bytes + i / 4 * 3))
            return false;
    *ret_bytes = slice_make(bytes, text.size / 4 * 3 - padding);
    return true;
}
