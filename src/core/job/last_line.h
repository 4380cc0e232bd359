/*
 * The last line of a program's output, for people: what it said before it ended.
 *
 * Pure.  Colours and other control sequences are left out; of a line that was written over by `\r`,
 * the last writing counts; what is no UTF-8 is shown as `?`.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/slice.h"

enum {
    LAST_LINE_TAIL = 2048, /* so much of the end of a log is worth looking at */
    LAST_LINE_MAX = 200,   /* bytes that are kept of the line */
};

/* Adds the last line of `tail`, the end of a log, that shows anything; nothing when there is
 * none. */
void last_line_add(struct buf *out, struct slice tail);
