/*
 * A page that is longer than the screen: what of it is shown, and which job on it is chosen.
 *
 * Pure.  A line that begins with a job's id is that job's; the chosen one is known by its id, so
 * that it stays chosen when the page is rewritten.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/slice.h"

struct top_page {
    size_t first;              /* line at the top of the screen */
    size_t height;             /* lines that the screen has for it */
    size_t lines;              /* of the page */
    char chosen[ID_TEXT_SIZE]; /* the job; empty: none */
};

/* The page was rewritten: keeps position and choice where they still exist. */
void top_page_fit(struct top_page *p, struct slice text, size_t height);

/* To the next or the one before (+1, -1) of the jobs on the page, bringing it into view; a line up
 * or down where it has none. */
void top_page_choose(struct top_page *p, struct slice text, int step);

/* Scrolls by `n` lines, up to the ends. */
void top_page_scroll(struct top_page *p, long lines);

/* The lines that are shown, the chosen one marked; as many as the screen has, cut at its edge (0:
 * not). */
void top_page_add(const struct top_page *p, struct slice text, size_t columns, struct buf *out);
