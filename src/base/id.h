/*
 * Ids: 63 bits, growing: milliseconds since 2024 (41), node (10), sequence (12).
 *
 * Shown as 13 characters of Crockford base32 and read in either case.  A generator never hands out
 * an id at or below its floor: the store's mark of what was ever handed out is given to it at start,
 * so that a clock that went back does no harm.  When a millisecond's 4,096 are used up it borrows
 * from the next.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

#define ID_TEXT_SIZE 14
#define ID_NODE_MAX 1023

struct job_id {
    int64_t v;
};

struct id_gen {
    int64_t last; /* the newest id handed out, or the floor */
    uint32_t node;
};

void id_gen_init(struct id_gen *g, uint32_t node, int64_t floor);
int64_t id_gen_next(struct id_gen *g, int64_t now_at);

/* The instant in an id, to the millisecond. */
int64_t id_time(int64_t id);

/* The smallest id of that instant. */
int64_t id_at_time(int64_t at);

const char *id_format(int64_t id, char text[static ID_TEXT_SIZE]);
bool id_parse(struct slice text, int64_t *ret_id);
