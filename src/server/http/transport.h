/*
 * How bytes pass a connection's socket: plain now, TLS later.
 *
 * The connection layer knows nothing else of the socket.  Either direction may be tried again
 * after any event of the descriptor: a transport may have to write in order to read.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include <sys/types.h>
#include <sys/uio.h>

struct transport;

/* A socket and what its transport keeps about it. */
struct channel {
    const struct transport *transport;
    int fd;
    void *session; /* the transport's own; NULL: none */
};

struct transport {
    /* Bytes read, 0 at the end, -1 with errno; EAGAIN: not now. */
    ssize_t (*recv)(struct channel *ch, void *to, size_t size);
    /* Bytes taken of all parts together, -1 with errno; EAGAIN: not now. */
    ssize_t (*send)(struct channel *ch, const struct iovec *parts, size_t n_parts);
    /* Bytes that were sent and that the other end has not taken; at least as many on a Unix
     * socket, where the kernel's own count with them. */
    size_t (*queued)(const struct channel *ch);
    /* Nothing more will be sent. */
    void (*finish)(struct channel *ch);
    void (*close)(struct channel *ch);
};

extern const struct transport transport_plain;
