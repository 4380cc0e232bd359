/*
 * The last line of a program's output, for people.
 *
 * Pure.  Colours and other control sequences are left out; of a line that `\r` overwrites, the last
 * version counts; bytes that are not UTF-8 are shown as `?`.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/slice.h"

enum {
    LAST_LINE_TAIL = 2048, /* bytes at the end of a log that are searched */
    LAST_LINE_MAX = 200,   /* bytes that are kept of the line */
};

/* Adds the last visible line of `tail`, the end of a log; nothing when there is none. */
void last_line_add(struct buf *out, struct slice tail);
