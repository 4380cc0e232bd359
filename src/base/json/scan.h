/*
 * What checker, walker and writer of JSON share: byte classes, runs of text, escapes.
 *
 * For src/base/json*.c alone; everybody else includes json.h.
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

#define JSON_LOW_BITS UINT64_C(0x0101010101010101)
#define JSON_HIGH_BITS UINT64_C(0x8080808080808080)

/* Eight bytes, the first in the lowest place. */
static inline uint64_t json_load(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return le64toh(word);
}

/* What ends a run of string text, besides a quote and a backslash. */
enum json_stop { JSON_STOP_CONTROL = 1, JSON_STOP_HIGH = 2 };

/* Marks bytes equal to `c`.  The lowest mark is right; one above it may be a borrow. */
static inline uint64_t json_mark(uint64_t word, char c)
{
    uint64_t x = word ^ (JSON_LOW_BITS * (unsigned char)c);

    return (x - JSON_LOW_BITS) & ~x & JSON_HIGH_BITS;
}

static inline uint64_t json_mark_stops(uint64_t word, unsigned stops)
{
    uint64_t marks = json_mark(word, '"') | json_mark(word, '\\');

    if (stops & JSON_STOP_CONTROL)
        marks |= (word - JSON_LOW_BITS * 0x20) & ~word & JSON_HIGH_BITS;
    if (stops & JSON_STOP_HIGH)
        marks |= word & JSON_HIGH_BITS;
    return marks;
}

static inline bool json_stops(unsigned char c, unsigned stops)
{
    return c == '"' || c == '\\' || (stops & JSON_STOP_CONTROL && c < 0x20) ||
           (stops & JSON_STOP_HIGH && c >= 0x80);
}

#ifdef __SSE2__
static inline unsigned json_mark_block(const char *at, unsigned stops)
{
    __m128i block = _mm_loadu_si128((const __m128i *)(const void *)at);
    __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                                 _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));

    if (stops & JSON_STOP_CONTROL)
        marks = _mm_or_si128(marks,
                             _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1F)), block));
    if (stops & JSON_STOP_HIGH) /* the mask takes the top bits, which these have */
        marks = _mm_or_si128(marks, block);
    return (unsigned)_mm_movemask_epi8(marks);
}
#endif

/* The first byte from `at` on that stops a run of string text, or the end.  `stops` is a
 * constant. */
static inline const char *json_skip_run(const char *at, const char *end, unsigned stops)
{
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        unsigned marks = json_mark_block(at, stops);

        if (marks != 0)
            return at + __builtin_ctz(marks);
    }
#endif
    for (; end - at >= 8; at += 8) {
        uint64_t marks = json_mark_stops(json_load(at), stops);

        if (marks != 0)
            return at + __builtin_ctzll(marks) / 8;
    }
    while (at < end && !json_stops((unsigned char)*at, stops))
        at++;
    return at;
}

static inline bool json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *json_skip_space(const char *at, const char *end)
{
    while (at < end && json_is_space(*at))
        at++;
    return at;
}

static inline bool json_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The value of a hexadecimal digit, -1 for anything else. */
static inline int json_hex(char c)
{
    if (json_is_digit(c))
        return c - '0';
    char lower = (char)(c | 0x20);

    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Four hexadecimal digits; more than 16 bits if one of the characters is none. */
static inline uint32_t json_hex4(const char *at)
{
    return (uint32_t)json_hex(at[0]) << 12 | (uint32_t)json_hex(at[1]) << 8 |
           (uint32_t)json_hex(at[2]) << 4 | (uint32_t)json_hex(at[3]);
}

/* What is wrong, and where: something is wanted there, or a cause in full. */
struct json_flaw {
    const char *at;
    const char *wanted;
    const char *cause;
};

/* Where the number that begins at `at` (a digit or a minus) ends; NULL when it is malformed. */
const char *json_number_end(const char *at, const char *end, struct json_flaw *ret_flaw);

/* Decodes one byte or one escape of checked string text at *at, moves on (never beyond `end`),
 * returns the bytes written: not more than it moved. */
size_t json_decode_step(const char **at, const char *end, char to[static 4]);
