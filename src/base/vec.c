/* SPDX-License-Identifier: MIT */
#include "base/vec.h"

void *vec_grow(void *items, size_t *capacity, size_t item_size)
{
    size_t next = *capacity < 8 ? 8 : *capacity * 2;
    size_t bytes;

    ASSERT(!__builtin_mul_overflow(next, item_size, &bytes));
    *capacity = next;
    return mem_realloc(items, bytes);
}
