/*
 * Ids: 63 bits, growing: milliseconds since 2024 (41), node (10), sequence (12).
 *
 * Shown as 13 characters of Crockford base32 and read in either case.  A generator never hands out
 * an id at or below its floor: the store's mark of what was ever handed out is given to it at
 * start, so that a clock that went back does no harm.  When a millisecond's 4,096 are used up it
 * borrows from the next.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

#define ID_TEXT_SIZE 14
#define ID_NODE_MAX 1023

/* Ids tell instants from 2024-01-01 until 2^41 ms later, in September 2093.  The last day is kept
 * free: whoever is in it is told, and no generator runs out in the middle of a batch. */
#define ID_FIRST_AT INT64_C(1704067200000000)
#define ID_LAST_AT (ID_FIRST_AT + (INT64_C(1) << 41) * 1000 - INT64_C(86400000000))

struct job_id {
    int64_t v;
};

struct id_gen {
    int64_t last; /* the newest id handed out, or the floor */
    uint32_t node;
};

void id_gen_init(struct id_gen *g, uint32_t node, int64_t floor);
int64_t id_gen_next(struct id_gen *g, int64_t now_at);

/* Whether there are ids left: millions of them, more than any batch needs.  Without, id_gen_next
 * asserts. */
bool id_gen_has_room(const struct id_gen *g);

/* The instant in an id, to the millisecond. */
int64_t id_time(int64_t id);

/* The smallest id of that instant. */
int64_t id_at_time(int64_t at);

const char *id_format(int64_t id, char text[static ID_TEXT_SIZE]);
bool id_parse(struct slice text, int64_t *ret_id);

/* The first and the last id whose text begins so; false when none does. */
bool id_prefix(struct slice text, int64_t *ret_first, int64_t *ret_last);
