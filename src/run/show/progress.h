/*
 * How far a run is, on standard error: on a terminal lines that are drawn again and again,
 * elsewhere a line now and then.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "own/rate_meter.h"
#include "run/look.h"

struct progress_view {
    bool is_terminal;
    int lines; /* drawn; the cursor is in the last one */
    int64_t drawn_at;
    int64_t next_line_at; /* elsewhere: when the next line is due */
    int64_t line_us;
    int64_t said_moved; /* ends that the last line told */
    bool was_waiting;
    struct rate_meter meter;
};

void progress_begin(struct progress_view *v);

/* Erases what is drawn. */
void progress_end(struct progress_view *v);

/* The next drawing shows why jobs wait. */
bool progress_shows_waits(const struct progress_view *v);

void progress_show(struct progress_view *v, const struct look *l);

/* " 12 jobs of fetch: search-api is closed until 22:00 (3h)" without a line end.  Pure. */
void wait_line_add(struct buf *out, const struct look_wait *w, int64_t now_at);

/* The lines of the tree of open groups, each with a line end; at most that many.  Pure. */
void group_tree_add(struct buf *out, const json_t *groups, int most);
