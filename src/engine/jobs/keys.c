/* SPDX-License-Identifier: MIT */
#include "engine/jobs/keys.h"

#include <stdlib.h>
#include <string.h>

#include "engine/batch/names.h"
#include "engine/batch/transaction.h"
#include "engine/state.h"
#include "store/jobs/record.h"

void keys_clear(struct engine *e)
{
    names_deinit(&e->batch.keys.by_key);
    e->batch.keys.by_key = NAMES_INIT;
    VEC_CLEAR(&e->batch.keys.entries);
}

enum err_code keys_open(struct engine *e, struct err *err)
{
    if (keys_return(e, err) != E_OK)
        return err->code;
    keys_clear(e);
    return E_OK;
}

void keys_want(struct engine *e, struct slice key, int64_t job, uint64_t content)
{
    struct key_entry *k = names_find(&e->batch.keys.by_key, key);

    if (k == NULL) {
        k = arena_zalloc(&e->batch.arena, sizeof(*k));
        k->who.key = k->put.key = arena_copy(&e->batch.arena, key);
        names_add(&e->batch.keys.by_key, k->who.key, k);
        VEC_PUSH(&e->batch.keys.entries, k);
    }
    if (k->put.job == 0) {
        k->put.job = job;
        k->put.content = content;
    }
}

const struct key_entry *keys_get(const struct engine *e, struct slice key)
{
    const struct key_entry *k = names_find(&e->batch.keys.by_key, key);

    ASSERT(k != NULL);
    return k;
}

void keys_use(struct engine *e, struct slice key, int64_t job, uint64_t content)
{
    struct key_entry *k = names_find(&e->batch.keys.by_key, key);

    ASSERT(k != NULL && k->taken && !k->used);
    k->used = true;
    k->who.job = job;
    k->who.content = content;
}

/* ---- the store ---- */

static int by_bytes(const void *a, const void *b)
{
    struct slice x = (*(struct key_entry *const *)a)->who.key;
    struct slice y = (*(struct key_entry *const *)b)->who.key;
    int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);

    return order != 0 ? order : (x.size > y.size) - (x.size < y.size);
}

enum err_code keys_look(struct engine *e, struct err *err)
{
    size_t n = e->batch.keys.entries.count;
    struct stored_key *keys = arena_array(&e->batch.arena, n, sizeof(*keys));

    for (size_t i = 0; i < n; i++)
        keys[i].key = e->batch.keys.entries.items[i]->who.key;
    if (store_keys_find(e->store, keys, n, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        e->batch.keys.entries.items[i]->who = keys[i];
    return E_OK;
}

static bool is_wanted(const struct key_entry *k)
{
    return k->put.job != 0 && k->who.job == 0;
}

enum err_code keys_take(struct engine *e, struct err *err)
{
    size_t n = e->batch.keys.entries.count;
    struct key_entry **entries = arena_array(&e->batch.arena, n, sizeof(struct key_entry *));
    struct stored_key *keys = arena_array(&e->batch.arena, n, sizeof(*keys));
    size_t wanted = 0;

    for (size_t i = 0; i < n; i++)
        if (is_wanted(e->batch.keys.entries.items[i]))
            entries[wanted++] = e->batch.keys.entries.items[i];
    if (wanted == 0)
        return E_OK;
    qsort(entries, wanted, sizeof(struct key_entry *), by_bytes);
    for (size_t i = 0; i < wanted; i++)
        keys[i] = entries[i]->put;
    if (engine_write(e, err) != E_OK || store_keys_add(e->store, keys, wanted, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < wanted; i++) {
        entries[i]->who = keys[i];
        entries[i]->taken = keys[i].job == entries[i]->put.job;
    }
    return E_OK;
}

/* Whether the key's row in the store may stay. */
static bool is_right(const struct key_entry *k)
{
    return !k->taken || (k->used && k->who.job == k->put.job && k->who.content == k->put.content);
}

/* A key may have been used for another job, when the job that it was taken for was refused. */
enum err_code keys_return(struct engine *e, struct err *err)
{
    size_t n = e->batch.keys.entries.count;
    struct stored_key *keys = arena_array(&e->batch.arena, n, sizeof(*keys));
    size_t wrong = 0;
    size_t used = 0;

    for (size_t i = 0; i < n; i++)
        if (!is_right(e->batch.keys.entries.items[i]))
            keys[wrong++] = e->batch.keys.entries.items[i]->put;
    if (wrong == 0)
        return E_OK;
    if (store_keys_remove(e->store, keys, wrong, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++) {
        struct key_entry *k = e->batch.keys.entries.items[i];

        if (is_right(k))
            continue;
        if (k->used)
            keys[used++] = k->put = k->who;
        else
            *k = (struct key_entry){.who.key = k->who.key, .put.key = k->who.key};
    }
    return used == 0 ? E_OK : store_keys_add(e->store, keys, used, err);
}
