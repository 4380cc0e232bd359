/*
 * Sliding windows: the starts that a gate remembers, and when the next one is allowed.
 *
 * Exact: the weights of the starts in (t - length, t] never sum up to more than the rate allows,
 * for any t.  Remembered is what the longest window still covers, one entry for each instant: at
 * most as many as the largest rate has starts.  So the size is bounded by WINDOW_STARTS_MAX.
 *
 * Where the past is not known exactly, the later of two possible instants counts: a start that
 * lies in the future, because the clock was set back, counts as one of now.  Such a window blocks
 * for one length, never for as long as the clock was moved.  Starts that were forgotten under
 * shorter rates stay forgotten when a definition makes the rates longer.
 *
 * Pure.  The order of calls for a claim: window_settle, window_next, window_add, window_encode.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/gate/rate.h"

enum { WINDOW_STARTS_MAX = RATE_STARTS_MAX };

#define WINDOW_WEIGHT_MAX INT64_C(1000000000) /* of one start, also after `use` */

struct window_start {
    int64_t at;
    int64_t through; /* sum of all weights up to this start, which finds a sum by two entries */
};

struct window {
    struct window_start *starts; /* by time, each instant once, no weight 0 */
    size_t count, capacity;
    int64_t before; /* `through` of the last start that was forgotten */
};

#define WINDOW_INIT ((struct window){.starts = NULL})

void window_deinit(struct window *w);
static inline void window_cleanup(struct window *w)
{
    window_deinit(w);
}

/* Forgets what no rate needs any more, and moves starts of the future to now. */
void window_settle(struct window *w, const struct rates *rates, int64_t now);

struct window_verdict {
    int64_t at; /* first instant, from now on; TIME_NEVER: the weight is above the rate */
    const struct rate *by; /* the rate that decides it; NULL: allowed now */
};

/* When a start of that weight is allowed.  The window is settled for `now`. */
struct window_verdict window_next(const struct window *w, const struct rates *rates, int64_t now,
                                  int64_t weight);

/* Remembers a start.  An instant before the last start counts as that of the last start. */
void window_add(struct window *w, int64_t at, int64_t weight);

/* Books `by` more (or less, below 0) for the start at that instant.  More for a start that is not
 * known is a start of its own; less for one is ignored. */
void window_adjust(struct window *w, int64_t at, int64_t by);

/* The sum of the remembered weights after the instant `after`. */
int64_t window_sum(const struct window *w, int64_t after);

/* Adds the bytes that are kept in stores: a version, then for each start the time since the one
 * before and its weight, as numbers of 7 bits a byte, low ones first.  Empty when there is no
 * start.  A new form gets a new version; old ones stay readable. */
void window_encode(const struct window *w, struct buf *out);

/* Into a new window.  E_INVALID for bytes that window_encode does not write. */
MUST_CHECK enum err_code window_decode(struct slice bytes, struct window *ret_window,
                                       struct err *err);
