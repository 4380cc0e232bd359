/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* Most requests need little: malloc caches blocks of the first size. */
enum { FIRST_BYTES = 960, BLOCK_BYTES = 16 * 1024 };

struct arena_block {
    struct arena_block *older;
    size_t used;
    size_t size;
    alignas(max_align_t) char bytes[];
};

void arena_deinit(struct arena *a)
{
    while (a->blocks != NULL) {
        struct arena_block *b = a->blocks;

        a->blocks = b->older;
        free(b);
    }
}

void arena_clear(struct arena *a)
{
    struct arena_block *keep = NULL;

    while (a->blocks != NULL) {
        struct arena_block *b = a->blocks;

        a->blocks = b->older;
        if (keep == NULL && b->size <= BLOCK_BYTES)
            keep = b;
        else
            free(b);
    }
    if (keep != NULL) {
        keep->older = NULL;
        keep->used = 0;
    }
    a->blocks = keep;
}

void *arena_alloc(struct arena *a, size_t size)
{
    const size_t align = alignof(max_align_t);
    size_t need = (size + align - 1) / align * align;
    struct arena_block *b = a->blocks;

    ASSERT(need >= size);
    if (b == NULL || b->size - b->used < need) {
        size_t room = b == NULL && need <= FIRST_BYTES ? FIRST_BYTES : BLOCK_BYTES;
        struct arena_block *fresh = mem_alloc(sizeof(*b) + (need > room ? need : room));

        fresh->size = need > room ? need : room;
        fresh->used = 0;
        if (b != NULL && need > BLOCK_BYTES) { /* a large one goes behind: b keeps its room */
            fresh->older = b->older;
            b->older = fresh;
            fresh->used = need;
            return fresh->bytes;
        }
        fresh->older = b;
        a->blocks = b = fresh;
    }
    void *p = b->bytes + b->used;

    b->used += need;
    return p;
}

void *arena_zalloc(struct arena *a, size_t size)
{
    void *p = arena_alloc(a, size);

    memset(p, 0, size);
    return p;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
    size_t bytes;

    ASSERT(!__builtin_mul_overflow(count, size, &bytes));
    return arena_zalloc(a, bytes);
}

char *arena_strdup(struct arena *a, struct slice s)
{
    char *copy = arena_alloc(a, s.size + 1);

    if (s.size > 0)
        memcpy(copy, s.data, s.size);
    copy[s.size] = '\0';
    return copy;
}

struct slice arena_copy(struct arena *a, struct slice s)
{
    return slice_make(arena_strdup(a, s), s.size);
}
