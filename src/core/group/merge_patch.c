/* SPDX-License-Identifier: MIT */
#include "core/group/merge_patch.h"

#include "base/arena.h"
#include "base/jtext/jtext.h"

/* The member of that name, whose key is as the iterator gave it; false when there is none. */
static bool find(struct slice object, struct slice key, struct arena *arena, struct slice *ret)
{
    return jtext_find(object, arena_strdup(arena, jtext_text(key, arena)), ret);
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

/* Values are nested at most JTEXT_DEPTH_MAX deep. */
static void merge(struct buf *out, struct slice data, struct slice patch, struct arena *arena)
{
    struct slice key;
    struct slice old;
    struct slice new;

    buf_add_char(out, '{');
    for (struct jtext_iter it = jtext_members(data); jtext_next_member(&it, &key, &old);) {
        bool changes = find(patch, key, arena, &new);

        if (changes && jtext_type_of(new) == JTEXT_NULL)
            continue;
        add_member(out, key);
        if (!changes)
            buf_add_slice(out, old);
        else if (jtext_type_of(new) == JTEXT_OBJECT && jtext_type_of(old) == JTEXT_OBJECT)
            merge(out, old, new, arena);
        else
            add_value(out, new, arena);
    }
    for (struct jtext_iter it = jtext_members(patch); jtext_next_member(&it, &key, &new);) {
        if (jtext_type_of(new) == JTEXT_NULL || find(data, key, arena, &old))
            continue;
        add_member(out, key);
        add_value(out, new, arena);
    }
    buf_add_char(out, '}');
}

void merge_patch_add(struct buf *out, struct slice data, struct slice patch)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    merge(out, data.size > 0 ? data : SLICE("{}"), patch, &arena);
}
