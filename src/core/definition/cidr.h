/*
 * A network: 10.0.0.0/8, 192.0.2.7, fd00::/8.
 *
 * IPv4 is kept as IPv6 writes it (::ffff:10.0.0.0/104), so that there is one way to compare; ::/0
 * is all of both.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"

enum { CIDR_BYTES = 16 };

struct cidr {
    unsigned char address[CIDR_BYTES];
    int bits; /* significant bits */
};

/* An address alone is a network of one.  E_INVALID: no network, or bits set beyond the prefix. */
MUST_CHECK enum err_code cidr_parse(struct slice text, struct cidr *ret_cidr, struct err *err);

bool cidr_has(const struct cidr *c, const unsigned char address[static CIDR_BYTES]);
