/*
 * The pace of a body or a reply: how long the client may take to move its bytes.
 *
 * A client has STALL_US for the next bytes, and in all STALL_US more than its bytes take at RATE_MIN: whoever moves
 * one byte at a time does not keep a connection for ever.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "server/limits.h"

struct pace {
    int64_t begun_at;
    size_t moved; /* bytes since then */
};

/* The client has moved `size` bytes more.  Returns when it must have moved the next. */
static inline int64_t pace_move(struct pace *p, size_t size, int64_t now_at)
{
    p->moved += size;
    int64_t stall_at = now_at + STALL_US;
    int64_t pace_at = p->begun_at + STALL_US + (int64_t)(p->moved / RATE_MIN) * US_PER_S;

    return stall_at < pace_at ? stall_at : pace_at;
}
