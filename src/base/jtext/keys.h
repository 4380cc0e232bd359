/*
 * The member names of the objects that are open while a JSON text is checked: is one there twice?
 *
 * A name is kept as 32 bits of hash and 32 bits of place; it is compared as decoded.  Up to
 * JTEXT_KEYS_FEW names of an object are compared as they come; beyond that the object is sorted
 * when it closes: n log n for any choice of names.  Memory is taken only when an ordinary request's
 * worth of names does not do.
 *
 * For src/base/jtext*.c alone.  Names point at their opening quote, inside the text given to init.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

#define JTEXT_KEYS_FEW 16
#define JTEXT_KEYS_INLINE 128

struct jtext_keys {
    const char *text;
    const char *end;
    uint64_t *items; /* `few`, or memory of its own */
    size_t count;
    size_t capacity;
    uint64_t few[JTEXT_KEYS_INLINE];
};

void jtext_keys_init(struct jtext_keys *k, struct slice text);
void jtext_keys_deinit(struct jtext_keys *k);

/* Adds a checked name to the object whose names begin at `first`.  Returns the name when it is a
 * repetition that was noticed already, NULL otherwise. */
const char *jtext_keys_add(struct jtext_keys *k, size_t first, struct slice key);

/* The same for a name with escapes. */
const char *jtext_keys_add_escaped(struct jtext_keys *k, size_t first, struct slice key);

/* Forgets the names from `first` on.  Returns the first that repeats an earlier one, or NULL. */
const char *jtext_keys_close(struct jtext_keys *k, size_t first);
