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

/* Adds `data`, which may be empty, as the patch changes it. */
void merge_patch_add(struct buf *out, struct slice data, struct slice patch);
