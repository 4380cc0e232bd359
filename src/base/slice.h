/*
 * A borrowed run of bytes.  It owns nothing and need not end in NUL; whoever made it says how long
 * it lives.  The empty slice may have a NULL pointer.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const char *data;
    size_t size;
};

#define SLICE(literal) ((struct slice){(literal), sizeof(literal) - 1})

static inline struct slice slice_of(const char *s)
{
    return (struct slice){s, s == NULL ? 0 : strlen(s)};
}

static inline struct slice slice_make(const char *data, size_t size)
{
    return (struct slice){data, size};
}

/* Behind the last byte; nothing is added to a NULL. */
static inline const char *slice_end(struct slice s)
{
    return s.size == 0 ? s.data : s.data + s.size;
}

static inline int slice_equal(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline int slice_begins(struct slice text, struct slice with)
{
    return text.size >= with.size && memcmp(text.data, with.data, with.size) == 0;
}

static inline int slice_is(struct slice a, const char *s)
{
    return slice_equal(a, slice_of(s));
}

/* The whole text as a decimal number.  False: it is empty, has other characters than digits, or
 * does not fit. */
static inline int slice_number(struct slice s, int64_t *ret_number)
{
    int64_t n = 0;

    for (size_t i = 0; i < s.size; i++) {
        char c = s.data[i];

        if (c < '0' || c > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, c - '0', &n))
            return 0;
    }
    *ret_number = n;
    return s.size > 0;
}

/* FNV-1a over the bytes: for tables and for telling contents apart, not for secrets.  Stores keep
 * hashes: never change it. */
#define SLICE_HASH_INIT 0xCBF29CE484222325u

static inline uint64_t slice_hash_more(uint64_t hash, struct slice s)
{
    for (size_t i = 0; i < s.size; i++)
        hash = (hash ^ (unsigned char)s.data[i]) * 0x100000001B3u;
    return hash;
}

static inline uint64_t slice_hash(struct slice s)
{
    return slice_hash_more(SLICE_HASH_INIT, s);
}
