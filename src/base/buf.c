/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void buf_deinit(struct buf *b)
{
    free(b->data);
    *b = BUF_INIT(b->limit);
}

void buf_clear(struct buf *b)
{
    b->size = 0;
    b->overflowed = false;
    if (b->data != NULL)
        b->data[0] = '\0';
}

static void grow(struct buf *b, size_t need)
{
    size_t capacity = b->capacity < 128 ? 128 : b->capacity;

    while (capacity < need)
        capacity *= 2;
    if (capacity - 1 > b->limit)
        capacity = b->limit + 1;
    b->data = mem_realloc(b->data, capacity);
    b->data[b->size] = '\0';
    b->capacity = capacity;
}

char *buf_reserve(struct buf *b, size_t size)
{
    if (size > b->limit - b->size) {
        b->overflowed = true;
        return NULL;
    }
    if (b->size + size + 1 > b->capacity)
        grow(b, b->size + size + 1);
    return b->data + b->size;
}

void buf_add_int(struct buf *b, int64_t value)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        digits[--at] = '-';
    buf_add(b, digits + at, sizeof(digits) - at);
}

void buf_add_real(struct buf *b, double value)
{
    char text[32];

    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    buf_add(b, text, strlen(text));
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    ASSERT(n >= 0);
    char *to = buf_reserve(b, (size_t)n);

    if (to == NULL)
        return;
    va_start(ap, fmt);
    vsnprintf(to, (size_t)n + 1, fmt, ap);
    va_end(ap);
    b->size += (size_t)n;
}

char *buf_take(struct buf *b)
{
    if (b->data == NULL)
        grow(b, 1);
    char *data = b->data;

    *b = BUF_INIT(b->limit);
    return data;
}
