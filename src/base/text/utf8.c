/* SPDX-License-Identifier: MIT */
#include "base/text/utf8.h"

#include "base/compiler.h"

static bool continues(const char *at, unsigned char low, unsigned char high)
{
    return (unsigned char)*at >= low && (unsigned char)*at <= high;
}

static size_t step_3(const char *at, unsigned char lead)
{
    unsigned char low = lead == 0xE0 ? 0xA0 : 0x80;  /* below: two bytes would have done */
    unsigned char high = lead == 0xED ? 0x9F : 0xBF; /* above: surrogates */

    return continues(at + 1, low, high) && continues(at + 2, 0x80, 0xBF) ? 3 : 0;
}

static size_t step_4(const char *at, unsigned char lead)
{
    unsigned char low = lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xF4 ? 0x8F : 0xBF; /* above: past U+10FFFF */

    return continues(at + 1, low, high) && continues(at + 2, 0x80, 0xBF) &&
                   continues(at + 3, 0x80, 0xBF)
               ? 4
               : 0;
}

size_t utf8_step(const char *at, const char *end)
{
    if (at >= end)
        return 0;
    unsigned char lead = (unsigned char)*at;
    size_t left = (size_t)(end - at);

    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        return left >= 2 && continues(at + 1, 0x80, 0xBF) ? 2 : 0;
    if (lead >= 0xE0 && lead <= 0xEF)
        return left >= 3 ? step_3(at, lead) : 0;
    if (lead >= 0xF0 && lead <= 0xF4)
        return left >= 4 ? step_4(at, lead) : 0;
    return 0;
}

bool utf8_valid(struct slice text)
{
    const char *at = text.data;
    const char *end = slice_end(text);

    while (at < end) {
        uint64_t word;

        while (end - at >= 8 && (memcpy(&word, at, 8), (word & 0x8080808080808080u) == 0))
            at += 8;
        if (at == end)
            return true;
        size_t n = utf8_step(at, end);

        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

struct slice utf8_cut(struct slice text, size_t max)
{
    if (text.size <= max)
        return text;
    while (max > 0 && ((unsigned char)text.data[max] & 0xC0) == 0x80)
        max--;
    return slice_make(text.data, max);
}

size_t utf8_encode(uint32_t code, char to[static 4])
{
    ASSERT(code <= 0x10FFFF);
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xC0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xE0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3F));
        to[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3F));
    to[2] = (char)(0x80 | (code >> 6 & 0x3F));
    to[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}
