/*
 * A growing byte buffer with a ceiling.
 *
 * Invariants: size <= capacity <= limit + 1; when anything was ever added, data[size] is NUL.
 * What would pass the ceiling is dropped and the buffer stays `overflowed`: writers need not check
 * each step, whoever sends the result must ask once.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"

struct buf {
    char *data;
    size_t size;
    size_t capacity;
    size_t limit;
    bool overflowed;
};

#define BUF_INIT(ceiling) ((struct buf){.limit = (ceiling)})

void buf_deinit(struct buf *b);
CLEANUP_BY_DEINIT(buf)

/* Empties it and forgets an overflow; the memory stays for the next use. */
void buf_clear(struct buf *b);

/* Room for `size` more bytes to be written at data + size by hand; NULL past the ceiling. */
char *buf_reserve(struct buf *b, size_t size);

/* Replies are made of many small pieces, nearly all of which fit: that much is done in place. */
static inline void buf_add(struct buf *b, const void *data, size_t size)
{
    char *to = size < b->capacity - b->size ? b->data + b->size : buf_reserve(b, size);

    if (to == NULL)
        return;
    if (size > 0)
        memcpy(to, data, size);
    b->size += size;
    b->data[b->size] = '\0';
}

static inline void buf_add_char(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

static inline void buf_add_str(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

static inline void buf_add_slice(struct buf *b, struct slice s)
{
    buf_add(b, s.data, s.size);
}

void buf_add_int(struct buf *b, int64_t value);
void buf_add_real(struct buf *b, double value); /* the shortest text that reads back the same */
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

static inline struct slice buf_slice(const struct buf *b)
{
    return (struct slice){b->data, b->size};
}

/* The text as a C string; "" when nothing was added. */
static inline const char *buf_text(const struct buf *b)
{
    return b->data == NULL ? "" : b->data;
}

/* Hands the memory to the caller (free with free()); the buffer is empty afterwards. */
char *buf_take(struct buf *b);
