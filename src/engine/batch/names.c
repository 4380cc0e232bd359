/* SPDX-License-Identifier: MIT */
#include "engine/batch/names.h"

#include <stdlib.h>

#include "base/compiler.h"

struct entry {
    struct slice name;
    void *value;
    struct entry *next; /* with the same hash */
};

static int64_t hash_of(struct slice name)
{
    return (int64_t)(slice_hash(name) >> 1) | 1;
}

void names_deinit(struct names *n)
{
    int64_t hash;
    void *first;

    for (size_t i = 0; map_next(&n->by_hash, &i, &hash, &first);)
        for (struct entry *e = first, *next; e != NULL; e = next) {
            next = e->next;
            free(e);
        }
    map_deinit(&n->by_hash);
}

void *names_find(const struct names *n, struct slice name)
{
    const struct entry *e = map_find(&n->by_hash, hash_of(name));

    while (e != NULL && !slice_equal(e->name, name))
        e = e->next;
    return e == NULL ? NULL : e->value;
}

void names_add(struct names *n, struct slice name, void *value)
{
    int64_t hash = hash_of(name);
    struct entry *e = mem_alloc(sizeof(*e));

    *e = (struct entry){name, value, map_find(&n->by_hash, hash)};
    map_put(&n->by_hash, hash, e);
}

void names_remove(struct names *n, struct slice name)
{
    int64_t hash = hash_of(name);
    struct entry *first = map_find(&n->by_hash, hash);
    struct entry **at = &first;

    while (*at != NULL && !slice_equal((*at)->name, name))
        at = &(*at)->next;
    struct entry *gone = *at;

    ASSERT(gone != NULL);
    *at = gone->next;
    free(gone);
    if (first != NULL)
        map_put(&n->by_hash, hash, first);
    else
        map_remove(&n->by_hash, hash);
}
