/*
 * A hash map from a 63-bit number above 0 to a pointer that is not NULL.  It owns no values.
 *
 * Searching for or removing a number of 0 or below finds nothing.  The memory shrinks with the
 * count.  Keys must be our own ids: a stranger who chooses keys can cause collisions.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t count;
    size_t capacity; /* a power of two, or 0 */
};

#define MAP_INIT ((struct map){.slots = NULL})

void map_deinit(struct map *m);
CLEANUP_BY_DEINIT(map)

void *map_find(const struct map *m, int64_t key);      /* NULL when it is not there */
void map_put(struct map *m, int64_t key, void *value); /* replaces */
void *map_remove(struct map *m, int64_t key);          /* the removed value, or NULL */

/* for (size_t i = 0; map_next(&m, &i, &key, &value);) — no changes meanwhile. */
bool map_next(const struct map *m, size_t *i, int64_t *ret_key, void **ret_value);
