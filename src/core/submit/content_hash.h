/*
 * A hash of a request: the same key with another content is a conflict.
 *
 * Kept in stores: never change it.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/slice.h"

static inline uint64_t content_hash(struct slice bytes)
{
    return slice_hash(bytes);
}

/* The hash of an object without its member `redo`, which says what to do with a known job, not
 * which job it is. */
uint64_t content_without_redo(struct slice object);
