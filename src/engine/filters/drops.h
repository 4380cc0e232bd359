/*
 * What filters drop: counted for each queue and filter, the last ones listed.
 *
 * Within the batch's transaction, on the engine's thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "core/filter/filter_def.h"
#include "store/filters/drops.h"

struct engine;

/* Why a job is not made. */
struct filter_drop {
    enum filter_kind filter;
    struct slice text;
    int64_t job; /* that it clashed with; 0: none */
};

struct drop_batch {
    VEC(struct stored_drop) drops;
    VEC(struct filter_count) counts;
};

/* The number under which a filter's drops are kept. */
static inline unsigned filter_number(enum filter_kind kind)
{
    return (unsigned)kind + 1;
}

/* Adds to a kept number of the queue. */
void filter_count(struct engine *e, int64_t queue, unsigned what, int64_t n);

/* A new job of the queue is dropped; the text lives as long as the batch. */
void drops_note(struct engine *e, int64_t queue, const struct filter_drop *drop);

MUST_CHECK enum err_code drops_write(struct engine *e, struct err *err);
