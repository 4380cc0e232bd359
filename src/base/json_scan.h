/*
 * What checker, walker and writer of JSON share: byte classes, eight bytes at a time, escapes.
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

#define JSON_LOW_BITS UINT64_C(0x0101010101010101)
#define JSON_HIGH_BITS UINT64_C(0x8080808080808080)

/* Eight bytes, the first in the lowest place. */
static inline uint64_t json_load(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return le64toh(word);
}

/* Marks bytes equal to `c`.  The lowest mark is right; one above it may be a borrow. */
static inline uint64_t json_mark(uint64_t word, char c)
{
    uint64_t x = word ^ (JSON_LOW_BITS * (unsigned char)c);

    return (x - JSON_LOW_BITS) & ~x & JSON_HIGH_BITS;
}

/* Marks bytes below 0x20, in the same sense. */
static inline uint64_t json_mark_control(uint64_t word)
{
    return (word - JSON_LOW_BITS * 0x20) & ~word & JSON_HIGH_BITS;
}

static inline size_t json_first_mark(uint64_t marks)
{
    return (size_t)__builtin_ctzll(marks) / 8;
}

static inline bool json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
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

/* Four hexadecimal digits that are known to be there. */
static inline uint32_t json_hex4(const char *at)
{
    return (uint32_t)(json_hex(at[0]) << 12 | json_hex(at[1]) << 8 | json_hex(at[2]) << 4 |
                      json_hex(at[3]));
}

/* What is wrong, and where: something is wanted there, or a cause in full. */
struct json_flaw {
    const char *at;
    const char *wanted;
    const char *cause;
};

/* Where the number that begins at `at` (a digit or a minus) ends; NULL when it is malformed. */
const char *json_number_end(const char *at, const char *end, struct json_flaw *ret_flaw);

/* Decodes one byte or one escape of checked string text at *at, moves on, returns the bytes written. */
size_t json_decode_step(const char **at, char to[static 4]);
