/* SPDX-License-Identifier: MIT */
#include "core/group/merge_patch.h"

#include "base/arena.h"
#include "base/jtext/jtext.h"
#include "base/map.h"

/* The members of an object by name: objects may have many, and each is looked up. */
struct member {
    struct slice name, value;
    struct member *next; /* of the same hash */
};

struct members {
    struct map by_hash;
};

static int64_t hash_of(struct slice name)
{
    return (int64_t)(slice_hash(name) >> 1 | 1);
}

static void index_members(struct members *m, struct slice object, struct arena *arena)
{
    struct slice key;
    struct slice value;

    m->by_hash = MAP_INIT;
    for (struct jtext_iter it = jtext_members(object); jtext_next_member(&it, &key, &value);) {
        struct member *new = arena_zalloc(arena, sizeof(*new));

        *new = (struct member){.name = jtext_text(key, arena), .value = value};
        new->next = map_find(&m->by_hash, hash_of(new->name));
        map_put(&m->by_hash, hash_of(new->name), new);
    }
}

/* False when there is no member of that name; the key is as the iterator gave it. */
static bool find(const struct members *m, struct slice key, struct arena *arena, struct slice *ret)
{
    struct slice name = jtext_text(key, arena);

    for (const struct member *at = map_find(&m->by_hash, hash_of(name)); at != NULL; at = at->next)
        if (slice_equal(at->name, name)) {
            *ret = at->value;
            return true;
        }
    return false;
}

static void add_member(struct buf *out, struct slice key)
{
    jtext_add_comma(out);
    buf_add_slice(out, key);
    buf_add_char(out, ':');
}

static void merge(struct buf *out, struct slice data, struct slice patch, struct arena *arena);

/* Removes what is null in a value that replaces another. */
static void add_value(struct buf *out, struct slice value, struct arena *arena)
{
    if (jtext_type_of(value) == JTEXT_OBJECT)
        merge(out, SLICE("{}"), value, arena);
    else
        buf_add_slice(out, value);
}

static void add_changed(struct buf *out, struct slice old, struct slice new, struct arena *arena)
{
    if (jtext_type_of(new) == JTEXT_OBJECT && jtext_type_of(old) == JTEXT_OBJECT)
        merge(out, old, new, arena);
    else
        add_value(out, new, arena);
}

/* Values are nested at most JTEXT_DEPTH_MAX deep. */
static void merge(struct buf *out, struct slice data, struct slice patch, struct arena *arena)
{
    struct members in_patch;
    struct members in_data;
    struct slice key;
    struct slice old;
    struct slice new;

    index_members(&in_patch, patch, arena);
    index_members(&in_data, data, arena);
    buf_add_char(out, '{');
    for (struct jtext_iter it = jtext_members(data); jtext_next_member(&it, &key, &old);) {
        bool changes = find(&in_patch, key, arena, &new);

        if (changes && jtext_type_of(new) == JTEXT_NULL)
            continue;
        add_member(out, key);
        if (changes)
            add_changed(out, old, new, arena);
        else
            buf_add_slice(out, old);
    }
    for (struct jtext_iter it = jtext_members(patch); jtext_next_member(&it, &key, &new);) {
        if (jtext_type_of(new) == JTEXT_NULL || find(&in_data, key, arena, &old))
            continue;
        add_member(out, key);
        add_value(out, new, arena);
    }
    buf_add_char(out, '}');
    map_deinit(&in_patch.by_hash);
    map_deinit(&in_data.by_hash);
}

void merge_patch_add(struct buf *out, struct slice data, struct slice patch)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    merge(out, data.size > 0 ? data : SLICE("{}"), patch, &arena);
}
