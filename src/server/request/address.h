/*
 * Addresses of TCP clients in one form: 16 bytes, IPv4 as IPv6 maps it (::ffff:a.b.c.d).
 *
 * An IPv4 client has the same bytes and the same text whether it came by an IPv4 socket or by one
 * of [::].  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include <netinet/in.h>
#include <sys/socket.h>

enum { ADDRESS_BYTES = 16 };

/* False when it is neither IPv4 nor IPv6: a Unix socket has no address. */
bool address_of(const struct sockaddr *from, unsigned char ret_address[static ADDRESS_BYTES]);

bool address_is_v4(const unsigned char address[static ADDRESS_BYTES]);

/* "192.0.2.7" or "2001:db8::1". */
void address_format(const unsigned char address[static ADDRESS_BYTES],
                    char ret_text[static INET6_ADDRSTRLEN]);
