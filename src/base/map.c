/*
 * Open addressing with linear probing.  Removal moves followers back instead of leaving marks, so
 * that a map through which many keys pass stays as fast as a new one.
 */
/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <stdlib.h>

#include "base/compiler.h"

enum { CAPACITY_MIN = 16 };

struct map_slot {
    int64_t key; /* 0: free */
    void *value;
};

void map_deinit(struct map *m)
{
    free(m->slots);
    *m = MAP_INIT;
}

/* Where a key would like to be.  Ids differ in their low and in their middle bits: both must
 * count. */
static size_t home_of(const struct map *m, int64_t key)
{
    uint64_t x = (uint64_t)key * UINT64_C(0x9E3779B97F4A7C15);

    return (size_t)(x ^ x >> 32) & (m->capacity - 1);
}

/* The slot that holds the key, or the free one where it belongs. */
static struct map_slot *slot_for(const struct map *m, int64_t key)
{
    size_t i = home_of(m, key);

    while (m->slots[i].key != 0 && m->slots[i].key != key)
        i = (i + 1) & (m->capacity - 1);
    return &m->slots[i];
}

static void resize(struct map *m, size_t capacity)
{
    struct map next = {.slots = mem_zalloc(capacity * sizeof(struct map_slot)),
                       .count = m->count,
                       .capacity = capacity};

    for (size_t i = 0; i < m->capacity; i++)
        if (m->slots[i].key != 0)
            *slot_for(&next, m->slots[i].key) = m->slots[i];
    free(m->slots);
    *m = next;
}

void *map_find(const struct map *m, int64_t key)
{
    return m->count == 0 || key <= 0 ? NULL : slot_for(m, key)->value;
}

void map_put(struct map *m, int64_t key, void *value)
{
    ASSERT(key > 0 && value != NULL);
    if (m->count >= m->capacity / 4 * 3)
        resize(m, m->capacity == 0 ? CAPACITY_MIN : m->capacity * 2);
    struct map_slot *slot = slot_for(m, key);

    m->count += slot->key == 0;
    *slot = (struct map_slot){key, value};
}

/* Closes the gap at `hole` with an entry that probing had pushed past it. */
static void close_gap(struct map *m, size_t hole)
{
    size_t mask = m->capacity - 1;

    for (size_t i = (hole + 1) & mask; m->slots[i].key != 0; i = (i + 1) & mask) {
        size_t home = home_of(m, m->slots[i].key);

        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct map_slot){0, NULL};
}

void *map_remove(struct map *m, int64_t key)
{
    if (m->count == 0 || key <= 0)
        return NULL;
    struct map_slot *slot = slot_for(m, key);
    void *value = slot->value;

    if (slot->key == 0)
        return NULL;
    close_gap(m, (size_t)(slot - m->slots));
    m->count--;
    if (m->capacity > CAPACITY_MIN && m->count < m->capacity / 8)
        resize(m, m->capacity / 2);
    return value;
}

bool map_next(const struct map *m, size_t *i, int64_t *ret_key, void **ret_value)
{
    while (*i < m->capacity) {
        const struct map_slot *slot = &m->slots[(*i)++];

        if (slot->key != 0) {
            *ret_key = slot->key;
            *ret_value = slot->value;
            return true;
        }
    }
    return false;
}
