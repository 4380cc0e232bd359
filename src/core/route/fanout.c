/* SPDX-License-Identifier: MIT */
#include "core/route/fanout.h"

enum { SMALL_PARTS = 64 }; /* a publication of no more than that part of a commit is small */

struct fanout fanout_max(size_t rows, size_t bytes)
{
    return (struct fanout){rows == 0 ? FANOUT_ROWS : rows, bytes == 0 ? FANOUT_BYTES : bytes};
}

bool fanout_is_full(const struct fanout *left)
{
    return left->rows == 0 || left->bytes == 0;
}

void fanout_use(struct fanout *left, size_t rows, size_t bytes)
{
    left->rows -= rows < left->rows ? rows : left->rows;
    left->bytes -= bytes < left->bytes ? bytes : left->bytes;
}

size_t fanout_room(const struct fanout *left, size_t each)
{
    size_t n = each == 0 ? left->rows : left->bytes / each;

    if (fanout_is_full(left))
        return 0;
    return n == 0 ? 1 : n < left->rows ? n : left->rows;
}

size_t fanout_part(const struct fanout *left, const struct fanout *max, size_t n, size_t each)
{
    size_t room = fanout_room(left, each);

    if (n <= max->rows / SMALL_PARTS && n * each <= max->bytes / SMALL_PARTS)
        return n;
    return n < room ? n : room;
}

struct fanout fanout_for_rest(const struct fanout *left, const struct fanout *max)
{
    const size_t rows = max->rows / 2 + 1;
    const size_t bytes = max->bytes / 2 + 1;

    return (struct fanout){left->rows < rows ? rows : left->rows,
                           left->bytes < bytes ? bytes : left->bytes};
}
