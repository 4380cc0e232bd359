/*
 * Ended lines whose output is not printed yet, in printing order.
 *
 * With order kept every line has its turn from the moment it was handed in (lines grow); without,
 * it gets one when it ends.  Output waits in memory up to a bound; beyond it only the job's id is
 * kept, and the output is read back from the job's log.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define EACH_HELD_MAX ((size_t)16 << 20)

/* What a program has printed. */
struct each_output {
    struct slice out, errors;
};

enum each_turn_state {
    EACH_TURN_OPEN,   /* it has not ended */
    EACH_TURN_HELD,   /* its output is here */
    EACH_TURN_LOGGED, /* its output is in the job's log alone */
};

struct each_turn {
    int64_t line;
    int64_t id; /* of the job, once it has ended */
    enum each_turn_state state;
    char *output; /* followed by the standard error */
    size_t size;
    size_t errors; /* of `size`: bytes of standard error */
};

struct each_order {
    bool keeps; /* the order of lines */
    struct each_turn *turns;
    size_t capacity; /* a power of two, or 0 */
    size_t first;
    size_t count;
    size_t held; /* bytes */
};

void each_order_init(struct each_order *o, bool keeps);
void each_order_deinit(struct each_order *o);

/* Announces a line, in growing order; does nothing if the order is not kept. */
void each_order_expect(struct each_order *o, int64_t line);

/* The line has ended; the output is copied if there is room.  A line that was not expected comes
 * last. */
void each_order_ended(struct each_order *o, int64_t line, int64_t id,
                      const struct each_output *output);

/* The same, when the output is known to be in the log alone. */
void each_order_ended_before(struct each_order *o, int64_t line, int64_t id);

/* Whose turn it is, or NULL when that one has not ended, or there is none. */
const struct each_turn *each_order_next(const struct each_order *o);
void each_order_pop(struct each_order *o);
