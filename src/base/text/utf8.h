/*
 * Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* The length of the character at `at`, 1 to 4 bytes; 0 when it is malformed or `end` cuts it
 * off. */
size_t utf8_step(const char *at, const char *end);

bool utf8_valid(struct slice text);

/* The start of valid text, at most `max` bytes, not ending inside a character. */
struct slice utf8_cut(struct slice text, size_t max);

/* Writes one character, returns its length.  `code` is a Unicode scalar value. */
size_t utf8_encode(uint32_t code, char to[static 4]);
