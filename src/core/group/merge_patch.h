/*
 * Merge patches (RFC 7396): members of the patch replace those of the same name, null removes one,
 * objects are merged level by level.
 *
 * For checked JSON objects.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/slice.h"

struct arena;

/* Several patches in a row.  They are joined with each other before they meet the data, which may
 * be large. */
struct merge_patches {
    struct arena *arena;
    struct slice data;   /* as the patches so far have changed it, but for those in `joined` */
    struct slice joined; /* empty: none */
};

void merge_patches_add(struct merge_patches *m, struct slice patch);

/* The changed data, in the arena. */
struct slice merge_patches_end(struct merge_patches *m);

/* Adds `data`, which may be empty, as the patch changes it. */
void merge_patch_add(struct buf *out, struct slice data, struct slice patch);
