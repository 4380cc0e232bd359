/*
 * The valid word nearest to a mistyped one, for error messages.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/slice.h"

/* The nearest of `words` within a third of the word's length (at least 1 edit; a swap of two
 * neighbours is one edit; case does not count), or NULL.  The first of several.  Words above 64
 * bytes and words that share no letter are never near. */
const char *nearest_word(struct slice word, const char *const *words, size_t count);
