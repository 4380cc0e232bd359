/*
 * The pace of a body or a reply: how long the client may take to move its bytes.
 *
 * A client has `stall_us` for the next bytes, and in all `stall_us` more than its bytes take at
 * RATE_MIN: a client that moves one byte at a time cannot keep a connection forever.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "server/limits.h"

struct pace {
    int64_t stall_us;
    int64_t begun_at;
    int64_t moved_at; /* the last bytes; begun_at at first */
    size_t moved;     /* bytes since it has begun */
};

static inline void pace_begin(struct pace *p, int64_t stall_us, int64_t now_at)
{
    *p = (struct pace){.stall_us = stall_us, .begun_at = now_at, .moved_at = now_at};
}

/* The client has moved `size` bytes more, maybe none.  Returns when it must have moved the next. */
static inline int64_t pace_move(struct pace *p, size_t size, int64_t now_at)
{
    if (size > 0)
        p->moved_at = now_at;
    p->moved += size;
    int64_t stall_at = p->moved_at + p->stall_us;
    int64_t pace_at = p->begun_at + p->stall_us + (int64_t)(p->moved / RATE_MIN) * US_PER_S;

    return stall_at < pace_at ? stall_at : pace_at;
}
