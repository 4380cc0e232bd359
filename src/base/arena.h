/*
 * Memory that is released all at once, at the end of a request or a batch.
 *
 * Pointers stay valid until arena_clear or arena_deinit.  Not shared between threads.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/slice.h"

struct arena_block;

struct arena {
    struct arena_block *blocks; /* the newest first; only that one has room */
};

#define ARENA_INIT ((struct arena){.blocks = NULL})

void arena_deinit(struct arena *a);
CLEANUP_BY_DEINIT(arena)

/* Forgets all that was handed out and keeps one ordinary block for the next use. */
void arena_clear(struct arena *a);

/* Aligned for any type; not zeroed. */
MUST_CHECK void *arena_alloc(struct arena *a, size_t size);
MUST_CHECK void *arena_zalloc(struct arena *a, size_t size);

/* `count` zeroed items of `size` bytes.  The product must not overflow: callers bound the count. */
MUST_CHECK void *arena_array(struct arena *a, size_t count, size_t size);

/* A copy that ends in NUL (not counted in its size). */
MUST_CHECK struct slice arena_copy(struct arena *a, struct slice s);
MUST_CHECK char *arena_strdup(struct arena *a, struct slice s);
