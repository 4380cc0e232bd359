/*
 * Listening sockets: the TCP address, the Unix socket in the data directory, and sockets passed by
 * systemd.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { LISTENERS_MAX = 8, LISTENER_HOST_SIZE = 48 };

struct listener {
    int fd;
    bool local;                    /* a Unix socket */
    bool loopback;                 /* TCP: reachable from this machine only */
    bool any;                      /* TCP: a wildcard address */
    uint16_t port;                 /* TCP */
    char host[LISTENER_HOST_SIZE]; /* TCP: the numeric address, without brackets */
    char path[4096];               /* local */
};

struct listeners {
    struct listener items[LISTENERS_MAX];
    size_t count;
};

void listeners_close(struct listeners *ls);

/* ADDR:PORT, [ADDR]:PORT, NAME:PORT.  E_INVALID; E_UNAVAILABLE when it is in use. */
MUST_CHECK enum err_code listen_tcp(struct listeners *ls, const char *address, struct err *err);

/* An address of this machine at which others may reach it; 127.0.0.1 when it has none. */
const char *listener_own_address(char host[static LISTENER_HOST_SIZE]);

/* Whether only this machine can reach such an address.  E_INVALID when it is none. */
MUST_CHECK enum err_code listen_is_loopback(const char *address, bool *ret_loopback,
                                            struct err *err);

/* DIR/waybill.sock, mode 0600; one that is left from a process before is removed.  Call it with
 * the directory's lock held.  The path may be longer than a socket's address can be. */
MUST_CHECK enum err_code listen_unix(struct listeners *ls, const char *dir, int dir_fd,
                                     struct err *err);

/* Sockets of LISTEN_FDS, if they are for this process.  The variables are removed. */
MUST_CHECK enum err_code listen_inherited(struct listeners *ls, struct err *err);

const struct listener *listeners_tcp(const struct listeners *ls);   /* the first, or NULL */
const struct listener *listeners_local(const struct listeners *ls); /* the first, or NULL */
