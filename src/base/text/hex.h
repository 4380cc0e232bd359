/*
 * Hexadecimal digits.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

/* The value of a digit, in either case; -1 when it is none. */
static inline int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
