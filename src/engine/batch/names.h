/*
 * A map from names to values, quick however many there are.
 *
 * Names are borrowed: they live as long as their entry.  Values are not owned.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/map.h"
#include "base/slice.h"

struct names {
    struct map by_hash;
};

#define NAMES_INIT ((struct names){.by_hash = MAP_INIT})

void names_deinit(struct names *n);
CLEANUP_BY_DEINIT(names)

void *names_find(const struct names *n, struct slice name); /* NULL when it is not there */

/* The name must be new, the value not NULL. */
void names_add(struct names *n, struct slice name, void *value);
void names_remove(struct names *n, struct slice name); /* it must be there */
