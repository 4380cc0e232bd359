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

/* ---- several ---- */

/* Whether two patches can be joined to one: not when the second has an object where the first has
 * none, which then replaces the value instead of changing it. */
static bool can_join(struct slice first, struct slice second, struct arena *arena)
{
    struct members in_first;
    bool can = true;
    struct slice key;
    struct slice old;
    struct slice new;

    index_members(&in_first, first, arena);
    for (struct jtext_iter it = jtext_members(second); can && jtext_next_member(&it, &key, &new);) {
        if (jtext_type_of(new) != JTEXT_OBJECT || !find(&in_first, key, arena, &old))
            continue;
        can = jtext_type_of(old) == JTEXT_OBJECT && can_join(old, new, arena);
    }
    map_deinit(&in_first.by_hash);
    return can;
}

/* As merge, but what is null stays. */
static void join(struct buf *out, struct slice first, struct slice second, struct arena *arena)
{
    struct members in_second;
    struct members in_first;
    struct slice key;
    struct slice old;
    struct slice new;

    index_members(&in_first, first, arena);
    index_members(&in_second, second, arena);
    buf_add_char(out, '{');
    for (struct jtext_iter it = jtext_members(first); jtext_next_member(&it, &key, &old);) {
        bool changes = find(&in_second, key, arena, &new);

        add_member(out, key);
        if (changes && jtext_type_of(new) == JTEXT_OBJECT)
            join(out, old, new, arena);
        else
            buf_add_slice(out, changes ? new : old);
    }
    for (struct jtext_iter it = jtext_members(second); jtext_next_member(&it, &key, &new);)
        if (!find(&in_first, key, arena, &old)) {
            add_member(out, key);
            buf_add_slice(out, new);
        }
    buf_add_char(out, '}');
    map_deinit(&in_first.by_hash);
    map_deinit(&in_second.by_hash);
}

struct slice merge_patches_end(struct merge_patches *m)
{
    CLEANUP(buf) struct buf b = BUF_INIT(SIZE_MAX / 2);

    if (m->joined.size == 0)
        return m->data;
    merge_patch_add(&b, m->data, m->joined);
    m->data = arena_copy(m->arena, buf_slice(&b));
    m->joined = slice_make(NULL, 0);
    return m->data;
}

void merge_patches_add(struct merge_patches *m, struct slice patch)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf b = BUF_INIT(SIZE_MAX / 2);

    if (m->joined.size > 0 && !can_join(m->joined, patch, &arena))
        (void)merge_patches_end(m);
    if (m->joined.size == 0) {
        m->joined = patch;
        return;
    }
    join(&b, m->joined, patch, &arena);
    m->joined = arena_copy(m->arena, buf_slice(&b));
}
