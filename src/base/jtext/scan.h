/*
 * What checker, walker and writer of JSON share: byte classes, runs of text, escapes.
 *
 * For src/base/jtext*.c alone; everybody else includes json.h.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define JTEXT_LOW_BITS UINT64_C(0x0101010101010101)
#define JTEXT_HIGH_BITS UINT64_C(0x8080808080808080)

/* Eight bytes, the first in the lowest place. */
static inline uint64_t jtext_load(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return le64toh(word);
}

/* What ends a run of string text, besides a quote and a backslash. */
enum jtext_stop { JTEXT_STOP_CONTROL = 1, JTEXT_STOP_HIGH = 2 };

/* Marks bytes equal to `c`.  The lowest mark is right; one above it may be a borrow. */
static inline uint64_t jtext_mark(uint64_t word, char c)
{
    uint64_t x = word ^ (JTEXT_LOW_BITS * (unsigned char)c);

    return (x - JTEXT_LOW_BITS) & ~x & JTEXT_HIGH_BITS;
}

static inline uint64_t jtext_mark_stops(uint64_t word, unsigned stops)
{
    uint64_t marks = jtext_mark(word, '"') | jtext_mark(word, '\\');

    if (stops & JTEXT_STOP_CONTROL)
        marks |= (word - JTEXT_LOW_BITS * 0x20) & ~word & JTEXT_HIGH_BITS;
    if (stops & JTEXT_STOP_HIGH)
        marks |= word & JTEXT_HIGH_BITS;
    return marks;
}

static inline bool jtext_stops(unsigned char c, unsigned stops)
{
    return c == '"' || c == '\\' || (stops & JTEXT_STOP_CONTROL && c < 0x20) ||
           (stops & JTEXT_STOP_HIGH && c >= 0x80);
}

#ifdef __SSE2__
static inline unsigned jtext_mark_block(const char *at, unsigned stops)
{
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                                 _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));

    if (stops & JTEXT_STOP_CONTROL)
        marks = _mm_or_si128(marks,
                             _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1F)), block));
    if (stops & JTEXT_STOP_HIGH) /* the mask takes the top bits, which these have */
        marks = _mm_or_si128(marks, block);
    return (unsigned)_mm_movemask_epi8(marks);
}
#endif

/* The first byte from `at` on that stops a run of string text, or the end.  `stops` is a
 * constant. */
static inline const char *jtext_skip_run(const char *at, const char *end, unsigned stops)
{
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        unsigned marks = jtext_mark_block(at, stops);

        if (marks != 0)
            return at + __builtin_ctz(marks);
    }
#endif
    for (; end - at >= 8; at += 8) {
        uint64_t marks = jtext_mark_stops(jtext_load(at), stops);

        if (marks != 0)
            return at + __builtin_ctzll(marks) / 8;
    }
    while (at < end && !jtext_stops((unsigned char)*at, stops))
        at++;
    return at;
}

static inline bool jtext_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *jtext_skip_space(const char *at, const char *end)
{
    while (at < end && jtext_is_space(*at))
        at++;
    return at;
}

static inline bool jtext_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The value of a hexadecimal digit, -1 for anything else. */
static inline int jtext_hex(char c)
{
    if (jtext_is_digit(c))
        return c - '0';
    char lower = (char)(c | 0x20);

    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Four hexadecimal digits; more than 16 bits if one of the characters is none. */
static inline uint32_t jtext_hex4(const char *at)
{
    return (uint32_t)jtext_hex(at[0]) << 12 | (uint32_t)jtext_hex(at[1]) << 8 |
           (uint32_t)jtext_hex(at[2]) << 4 | (uint32_t)jtext_hex(at[3]);
}

/* What is wrong, and where: something is wanted there, or a cause in full. */
struct jtext_flaw {
    const char *at;
    const char *wanted;
    const char *cause;
};

/* Where the number that begins at `at` (a digit or a minus) ends; NULL when it is malformed. */
const char *jtext_number_end(const char *at, const char *end, struct jtext_flaw *ret_flaw);

/* Decodes one byte or one escape of checked string text at *at, moves on (never beyond `end`),
 * returns the bytes written: not more than it moved. */
size_t jtext_decode_step(const char **at, const char *end, char to[static 4]);
