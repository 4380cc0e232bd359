/*
 * Splits input into lines as it arrives.
 *
 * The reader asks for room, writes into it and reports the size; then lines are taken until there
 * is none.  The memory is that of one piece of input, and of one long line at most.  A last line
 * without its end counts; an empty line counts.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

#define EACH_LINE_MAX ((size_t)1 << 20)

struct each_lines {
    char end; /* of a line: a newline, or NUL */
    char *data;
    size_t capacity;
    size_t from;   /* the first byte that was not taken */
    size_t seen;   /* up to here there is no end of a line */
    size_t filled; /* after the last byte */
    int64_t count; /* lines taken: the number of the last one */
    bool ended;    /* nothing will be added */
};

void each_lines_init(struct each_lines *l, char end);
void each_lines_deinit(struct each_lines *l);

/* Room for more, and its size.  Take all lines first: slices into the input become invalid. */
char *each_lines_room(struct each_lines *l, size_t *ret_size);
void each_lines_added(struct each_lines *l, size_t size);
void each_lines_end(struct each_lines *l);

/* The next line without its end, valid until more room is asked for; *ret_found says if there was
 * one. E_INVALID with the number of the line when it is too long, or has a NUL where lines end
 * otherwise. */
MUST_CHECK enum err_code each_lines_next(struct each_lines *l, struct slice *ret_line,
                                         bool *ret_found, struct err *err);
