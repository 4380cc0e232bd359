/*
 * Which characters may reach a terminal as they are, and how the others are shown.
 *
 * Not printable: C0, DEL and C1 controls, the marks that turn the direction of text (U+061C,
 * U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), separators of lines and paragraphs (U+2028,
 * U+2029), the byte order mark (U+FEFF), tags (U+E0000 to U+E007F), and bytes that are not UTF-8.
 *  Whoever prints text from outside decides about line ends and tabs himself: they are controls
 * here.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Whether the character of `size` bytes may be printed; size as utf8_step says, 0 when
 * malformed. */
bool printable(const char *at, size_t size);

/* Whether it is a C0, DEL or C1 control; size as for printable. */
bool is_control(const char *at, size_t size);

/* Appends the visible form of a character that is not: \x1b, \x9f for a malformed byte, \u202e,
 * \udb40\udc41. */
void printable_escape(struct buf *b, const char *at, size_t size);
