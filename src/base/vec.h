/*
 * A growing array of any type: VEC(struct job *) list = VEC_INIT; VEC_PUSH(&list, j);
 *
 * Items move when it grows: keep indexes, not pointers, across a push.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#include "base/compiler.h"

#define VEC(type)        \
    struct {             \
        type *items;     \
        size_t count;    \
        size_t capacity; \
    }

#define VEC_INIT                                 \
    {                                            \
        .items = NULL, .count = 0, .capacity = 0 \
    }

#define VEC_PUSH(v, item)                                                             \
    do {                                                                              \
        if ((v)->count == (v)->capacity)                                              \
            (v)->items = vec_grow((v)->items, &(v)->capacity, sizeof((v)->items[0])); \
        (v)->items[(v)->count++] = (item);                                            \
    } while (0)

#define VEC_CLEAR(v) ((v)->count = 0)

#define VEC_DEINIT(v)                   \
    do {                                \
        free((v)->items);               \
        (v)->items = NULL;              \
        (v)->count = (v)->capacity = 0; \
    } while (0)

MUST_CHECK void *vec_grow(void *items, size_t *capacity, size_t item_size);
