/*
 * Output for people: colours and aligned columns.
 *
 * Text from outside may contain control characters; they are shown, never interpreted.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"
#include "base/vec.h"

enum colour {
    COLOUR_PLAIN,
    COLOUR_BOLD,
    COLOUR_DIM,
    COLOUR_RED,
    COLOUR_GREEN,
    COLOUR_YELLOW,
    COLOUR_BLUE,
    COLOUR_COUNT
};

struct screen {
    bool colours; /* standard output is a terminal, and NO_COLOR is not set */
    int width;    /* of that terminal; 0: unlimited */
    int height;   /* likewise */
    FILE *out;    /* NULL: standard output */
};

void screen_init(struct screen *s);

/* Asks the terminal for its size again. */
void screen_measure(struct screen *s);

/* Where the output goes. */
static inline FILE *screen_out(const struct screen *s)
{
    return s->out != NULL ? s->out : stdout;
}

/* Start and end of a colour; "" where there are no colours. */
const char *screen_on(const struct screen *s, enum colour colour);
const char *screen_off(const struct screen *s, enum colour colour);

/* Text for one line: line ends and tabs become spaces, other controls are shown as \\x1b. */
void clean_text(struct buf *b, struct slice text);

/* The text as it is read: without the codes of colours, of which each ends in `m`. */
void add_uncoloured(struct buf *b, struct slice text);

/* A bar of that many columns, filled as far as `done` is of `total`. */
void bar_add(struct buf *b, int64_t done, int64_t total, size_t columns);

/* The columns that a text takes: its characters. */
size_t text_columns(struct slice utf8);

/* Short forms for people: 45s 12m 3h 8d; 512 B, 3.4 kB, 12 MB, 1.2 GB. */
#define SHORT_TEXT_SIZE 32
const char *age_format(int64_t us, char text[static SHORT_TEXT_SIZE]);

/* How long something took: 3 ms, 11.6 s, 4m 12s, 3h 05m, 2d 4h. */
const char *took_format(int64_t us, char text[static SHORT_TEXT_SIZE]);
const char *bytes_format(int64_t bytes, char text[static SHORT_TEXT_SIZE]);

struct column {
    const char *title;
    bool right;    /* align right */
    bool shrinks;  /* text that is cut where the screen is too narrow, as the last column's is */
    bool optional; /* left out where the screen is too narrow for all */
};

struct table_cell {
    struct slice text;
    enum colour colour;
};

/* A table is filled cell by cell, row by row, and printed with the columns as wide as needed. */
struct table {
    const struct column *columns;
    size_t n_columns;
    bool untitled; /* it continues a table that has been printed */
    size_t indent; /* spaces before each row */
    struct arena arena;
    VEC(struct table_cell) cells;
};

void table_init(struct table *t, const struct column *columns, size_t n_columns);
void table_deinit(struct table *t);
CLEANUP_BY_DEINIT(table)

void table_add(struct table *t, enum colour colour, const char *text);
void table_addf(struct table *t, enum colour colour, const char *fmt, ...) PRINTF_LIKE(3, 4);
void table_add_count(struct table *t, enum colour colour, int64_t n); /* a dim 0 */

/* Prints titles and rows.  Where the screen is too narrow the last column, if it is text, and those
 * that shrink share the room that the others leave. */
void table_print(const struct table *t, const struct screen *s);
