/*
 * How far a run is, in one line for people; and how it went, at its end.
 *
 * Pure: everything shown is passed in.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct progress {
    int64_t done;
    int64_t failed;
    int64_t running;
    int64_t total;     /* total lines; 0: unknown */
    bool is_estimated; /* the total is a guess */
    double rate;       /* ended a second, lately */
};

/* The bar's text, at most `width` columns, no line end. */
void progress_add(struct buf *out, const struct progress *p, int width);

struct run_result {
    int64_t done, failed; /* in all */
    int64_t before;       /* of those: ended in earlier processes */
    int64_t left;         /* not ended, as far as the input was read */
    int64_t took_us;
};

/* "100,000 done, 2 failed in 32.1 s (3,115/s)" and a line end. */
void run_result_add(struct buf *out, const struct run_result *r);
