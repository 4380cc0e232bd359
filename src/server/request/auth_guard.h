/*
 * Wrong tokens: each one delays the next reply to its address, and they are logged.
 *
 * The first few are answered at once: people mistype.  An address is forgotten after a while
 * without a wrong token; IPv6 counts by its /64 network.  The table is bounded: the address that
 * was wrong least recently makes room.  A client with the right token is never delayed, nor is
 * anybody on the Unix socket: see connection_delay.  HTTP thread only.
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

/* Counts a wrong token from this address.  Returns how long to delay the reply. */
int64_t auth_guard_failed(struct auth_guard *g, const struct sockaddr *from, int64_t now_at);
