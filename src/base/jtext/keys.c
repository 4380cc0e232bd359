/* SPDX-License-Identifier: MIT */
#include "base/jtext/keys.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/jtext/scan.h"

void jtext_keys_init(struct jtext_keys *k, struct slice text)
{
    k->text = text.data;
    k->end = text.data + text.size;
    k->items = k->few;
    k->count = 0;
    k->capacity = JTEXT_KEYS_INLINE;
}

void jtext_keys_deinit(struct jtext_keys *k)
{
    if (k->items != k->few)
        free(k->items);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

/* Up to 8 bytes, the first in the lowest place, without reading past `end`. */
static uint64_t load_some(const char *at, size_t size, const char *end)
{
    if (end - at >= 8)
        return jtext_load(at) & (size == 8 ? UINT64_MAX : (UINT64_C(1) << size * 8) - 1);
    uint64_t word = 0;

    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)(unsigned char)at[i] << i * 8;
    return word;
}

static uint64_t hash_plain(const char *at, size_t size, const char *end)
{
    uint64_t hash = 0;
    size_t left = size;

    for (; left > 8; left -= 8, at += 8)
        hash = mix(hash, jtext_load(at));
    hash = mix(hash, load_some(at, left, end));
    return mix(hash, size);
}

/* The same hash of the same name, whatever of it is written as escapes. */
static uint64_t hash_escaped(const char *at, const char *end)
{
    uint64_t hash = 0;
    uint64_t word = 0;
    size_t size = 0;

    while (at < end) {
        char bytes[4];
        size_t n = jtext_decode_step(&at, end, bytes);

        for (size_t i = 0; i < n; i++) {
            if (size > 0 && size % 8 == 0) {
                hash = mix(hash, word);
                word = 0;
            }
            word |= (uint64_t)(unsigned char)bytes[i] << size++ % 8 * 8;
        }
    }
    return mix(mix(hash, word), size);
}

/* Walks a name as it reads, byte by byte: -1 at its end. */
struct reader {
    const char *at;
    char bytes[4];
    size_t used;
    size_t size;
};

static int read_byte(struct reader *r)
{
    if (r->used == r->size) {
        if (*r->at == '"')
            return -1;
        r->size = jtext_decode_step(&r->at, r->at + 12, r->bytes);
        r->used = 0;
    }
    return (unsigned char)r->bytes[r->used++];
}

static int compare_names(const char *a, const char *b)
{
    struct reader ra = {.at = a + 1};
    struct reader rb = {.at = b + 1};

    for (;;) {
        int x = read_byte(&ra);
        int y = read_byte(&rb);

        if (x != y)
            return x < y ? -1 : 1;
        if (x < 0)
            return 0;
    }
}

static const char *name_at(const struct jtext_keys *k, uint64_t item)
{
    return k->text + (uint32_t)item;
}

static const char *add_item(struct jtext_keys *k, size_t first, const char *name, uint64_t hash)
{
    uint64_t item = hash << 32 | (uint64_t)(name - k->text);

    if (k->count - first < JTEXT_KEYS_FEW)
        for (size_t i = first; i < k->count; i++)
            if ((k->items[i] ^ item) >> 32 == 0 &&
                compare_names(name_at(k, k->items[i]), name) == 0)
                return name;
    if (k->count == k->capacity) {
        uint64_t *more = mem_alloc(k->capacity * 2 * sizeof(more[0]));

        memcpy(more, k->items, k->count * sizeof(more[0]));
        jtext_keys_deinit(k);
        k->items = more;
        k->capacity *= 2;
    }
    k->items[k->count++] = item;
    return NULL;
}

const char *jtext_keys_add(struct jtext_keys *k, size_t first, struct slice key)
{
    return add_item(k, first, key.data, hash_plain(key.data + 1, key.size - 2, k->end));
}

const char *jtext_keys_add_escaped(struct jtext_keys *k, size_t first, struct slice key)
{
    return add_item(k, first, key.data, hash_escaped(key.data + 1, key.data + key.size - 1));
}

static int by_hash_and_place(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int by_name_and_place(const void *a, const void *b, void *context)
{
    const struct jtext_keys *k = context;
    int order = compare_names(name_at(k, *(const uint64_t *)a), name_at(k, *(const uint64_t *)b));

    return order != 0 ? order : by_hash_and_place(a, b);
}

/* Among names with one hash: the first in the text that repeats another. */
static const char *first_twice(struct jtext_keys *k, uint64_t *items, size_t count)
{
    const char *found = NULL;

    if (count > 2)
        qsort_r(items, count, sizeof(items[0]), by_name_and_place, k);
    for (size_t i = 1; i < count; i++) {
        const char *name = name_at(k, items[i]);

        if ((found == NULL || name < found) && compare_names(name_at(k, items[i - 1]), name) == 0)
            found = name;
    }
    return found;
}

static const char *sort_and_search(struct jtext_keys *k, size_t first)
{
    const char *found = NULL;

    qsort(k->items + first, k->count - first, sizeof(k->items[0]), by_hash_and_place);
    for (size_t i = first, next; i < k->count; i = next) {
        for (next = i + 1; next < k->count && (k->items[i] ^ k->items[next]) >> 32 == 0;)
            next++;
        const char *twice = next - i > 1 ? first_twice(k, k->items + i, next - i) : NULL;

        if (twice != NULL && (found == NULL || twice < found))
            found = twice;
    }
    return found;
}

const char *jtext_keys_close(struct jtext_keys *k, size_t first)
{
    const char *twice = k->count - first > JTEXT_KEYS_FEW ? sort_and_search(k, first) : NULL;

    k->count = first;
    return twice;
}
