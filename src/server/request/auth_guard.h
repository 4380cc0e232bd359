/*
 * Wrong tokens: each one makes the next answer to its address slower, and the log tells of them.
 *
 * The first few are answered at once: people mistype.  An address that has sent none for a while
 * is forgotten; of IPv6 the network of 64 bits counts.  The table is bounded: the address that was
 * wrong least recently makes room.  Whoever has the right token is never slowed down, nor is
 * anybody on the Unix socket: connection_delay keeps connections free. HTTP thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "server/request/address.h"

enum { GUARD_ADDRESSES_MAX = 256 };

struct guarded {
    unsigned char address[ADDRESS_BYTES]; /* of an IPv6 network the first half */
    unsigned failures;                    /* 0: free */
    int64_t failed_at;
};

struct auth_guard {
    struct guarded table[GUARD_ADDRESSES_MAX];
    int64_t told_at; /* the last line in the log */
    uint64_t untold; /* failures since then */
};

/* A wrong token came from there.  Returns how long the answer is to be held back. */
int64_t auth_guard_failed(struct auth_guard *g, const struct sockaddr *from, int64_t now_at);
