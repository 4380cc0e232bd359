/*
 * Jobs of one array that wait for each other in a circle: none of them would ever begin.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "engine/submit.h"

/* Whom a condition of an item means. */
struct after_target {
    int64_t id;   /* 0: no job */
    size_t place; /* of the item of this array that makes it, from 1 on; 0: it is in the store */
    int step;     /* 0: the job itself */
};

/* Refuses one item of a circle, if there is one.  targets[i] is NULL where an item waits for nothing. */
void after_refuse_circles(const struct submit_item *items, size_t n, struct plan *plans,
                          struct after_target *const *targets, struct arena *arena);
