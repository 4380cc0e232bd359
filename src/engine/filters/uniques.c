/* SPDX-License-Identifier: MIT */
#include "engine/filters/uniques.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/siphash.h"
#include "engine/batch/transaction.h"
#include "engine/filters/drops.h"
#include "engine/state.h"

/* When a key of a living job is looked at again. */
#define LIVING_LOOK_US (10 * US_PER_MIN)
#define OTHERS_LOOK_US US_PER_HOUR /* shared stores: a server that took keys may be gone */

enum { EXPIRE_ROWS = 500, HASH_WORDS = UNIQUE_KEY_MAX / 8 + 4 };

/* ---- the book ---- */

void uniques_clear(struct engine *e)
{
    struct unique_book *b = &e->batch.filters.uniques;

    if (b->entries.count > 0) {
        names_deinit(&b->by_key);
        b->by_key = NAMES_INIT;
    }
    VEC_CLEAR(&b->entries);
    VEC_CLEAR(&b->undo);
    b->n_looked = 0;
    b->locked = b->holders_due = false;
}

void uniques_deinit(struct engine *e)
{
    uniques_clear(e);
    VEC_DEINIT(&e->batch.filters.uniques.entries);
    VEC_DEINIT(&e->batch.filters.uniques.undo);
}

/* Keys of a queue, also within a group, differ by the queue; keys of all do not. */
static struct stored_unique row_of(const struct engine *e, const struct unique_ref *ref)
{
    uint64_t words[HASH_WORDS] = {0};
    size_t n = (ref->key.size + 7) / 8 + 2;

    ASSERT(ref->key.size <= UNIQUE_KEY_MAX);
    words[0] = ref->key.size;
    words[1] = ref->scope == UNIQUE_SCOPE_ALL ? 0 : (uint64_t)ref->queue;
    memcpy(words + 2, ref->key.data, ref->key.size);
    struct siphash h = siphash_words(&e->lease_key, words, n);

    return (struct stored_unique){.scope = ref->scope, .hash = {(int64_t)h.v[0], (int64_t)h.v[1]}};
}

/* Whether a clash is judged by the state of the other job. */
static bool wants_holder(const struct filter_unique *f)
{
    return f->counts == COUNTS_LIVING || f->for_us > 0 || f->on_clash == CLASH_JOIN ||
           f->on_clash == CLASH_REPLACE || f->on_clash == CLASH_REUSE;
}

struct unique_entry *unique_want(struct engine *e, const struct unique_ref *ref)
{
    struct unique_book *b = &e->batch.filters.uniques;
    struct stored_unique row = row_of(e, ref);
    int64_t name[3] = {row.scope, row.hash[0], row.hash[1]};
    struct slice text = slice_make((const char *)name, sizeof(name));
    struct unique_entry *k = names_find(&b->by_key, text);

    if (k == NULL) {
        k = arena_zalloc(&e->batch.arena, sizeof(*k));
        k->row = row;
        names_add(&b->by_key, arena_copy(&e->batch.arena, text), k);
        VEC_PUSH(&b->entries, k);
    }
    if (!k->wants_holder && wants_holder(ref->filter)) {
        k->wants_holder = true;
        b->holders_due = b->holders_due || k->looked;
    }
    return k;
}

/* ---- looking ---- */

static bool must_know_holder(const struct unique_entry *k)
{
    return k->wants_holder && k->row.job != 0 && !k->taken;
}

static enum err_code look_at_holders(struct engine *e, struct unique_entry **entries, size_t n,
                                     struct err *err)
{
    struct unique_holder *holders = arena_array(&e->batch.arena, n + 1, sizeof(*holders));
    size_t wanted = 0;

    for (size_t i = 0; i < n; i++)
        if (must_know_holder(entries[i]))
            holders[wanted++].job = entries[i]->row.job;
    if (wanted == 0)
        return E_OK;
    if (store_uniques_holders(e->store, holders, wanted, err) != E_OK)
        return err->code;
    wanted = 0;
    for (size_t i = 0; i < n; i++)
        if (must_know_holder(entries[i]))
            entries[i]->holder = holders[wanted++];
    return E_OK;
}

static enum err_code look(struct engine *e, struct err *err)
{
    struct unique_book *b = &e->batch.filters.uniques;
    struct unique_entry **entries = b->entries.items + b->n_looked;
    size_t n = b->entries.count - b->n_looked;
    struct stored_unique *keys = arena_array(&e->batch.arena, n, sizeof(*keys));

    for (size_t i = 0; i < n; i++)
        keys[i] = entries[i]->row;
    if (store_uniques_find(e->store, keys, n, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++) {
        entries[i]->row = keys[i];
        entries[i]->looked = true;
        entries[i]->is_forever = keys[i].job != 0 && keys[i].for_us == UNIQUE_FOR_EVER;
    }
    if (look_at_holders(e, entries, n, err) != E_OK)
        return err->code;
    b->n_looked = b->entries.count;
    return E_OK;
}

enum err_code uniques_peek(struct engine *e, struct err *err)
{
    struct unique_book *b = &e->batch.filters.uniques;

    if (b->n_looked < b->entries.count && look(e, err) != E_OK)
        return err->code;
    if (!b->holders_due)
        return E_OK;
    b->holders_due = false; /* keys that were looked up for a filter that needs less */
    return look_at_holders(e, b->entries.items, b->entries.count, err);
}

/* What was found before the lock may have changed until it was taken. */
enum err_code uniques_look(struct engine *e, struct err *err)
{
    struct unique_book *b = &e->batch.filters.uniques;

    if (b->entries.count == 0)
        return E_OK;
    if (!b->locked) {
        if (engine_write(e, err) != E_OK || store_uniques_lock(e->store, err) != E_OK)
            return err->code;
        b->locked = true;
        if (must_ask_store(e))
            b->n_looked = 0;
    }
    return uniques_peek(e, err);
}

/* ---- judging ---- */

bool unique_is_held(const struct engine *e, const struct unique_entry *k,
                    const struct filter_unique *filter)
{
    bool lives = k->holder.state != JOB_NONE && !job_state_ended(k->holder.state);

    ASSERT(k->looked);
    if (k->row.job == 0)
        return false;
    if (k->taken || lives)
        return true;
    if (filter->counts == COUNTS_LIVING)
        return false;
    if (filter->for_us == 0)
        return true;
    if (k->holder.state == JOB_NONE)
        return k->row.until_at > e->now.wall_at;
    return k->holder.finished_at + filter->for_us > e->now.wall_at;
}

void unique_take(struct engine *e, struct unique_entry *k, const struct unique_ref *ref,
                 int64_t job)
{
    const struct filter_unique *f = ref->filter;
    bool living = f->counts == COUNTS_LIVING;

    VEC_PUSH(&e->batch.filters.uniques.undo, ((struct unique_undo){k, *k}));
    k->taken = true;
    k->holder = (struct unique_holder){.job = job, .state = JOB_READY};
    k->row.job = job;
    k->row.queue = ref->queue;
    k->row.for_us = living ? UNIQUE_FOR_LIVING : f->for_us;
    k->row.until_at = living           ? e->now.wall_at + LIVING_LOOK_US
                      : f->for_us == 0 ? 0
                                       : e->now.wall_at + f->for_us;
}

void uniques_begin(struct engine *e)
{
    VEC_CLEAR(&e->batch.filters.uniques.undo);
}

void uniques_undo(struct engine *e)
{
    uniques_undo_from(e, 0);
}

void uniques_undo_from(struct engine *e, size_t kept)
{
    struct unique_book *b = &e->batch.filters.uniques;

    while (b->undo.count > kept) {
        struct unique_undo *u = &b->undo.items[--b->undo.count];

        *u->entry = u->was;
    }
}

/* ---- writing ---- */

static int by_place(const void *a, const void *b)
{
    const struct stored_unique *x = a;
    const struct stored_unique *y = b;

    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    if (x->hash[0] != y->hash[0])
        return x->hash[0] < y->hash[0] ? -1 : 1;
    return x->hash[1] < y->hash[1] ? -1 : x->hash[1] > y->hash[1];
}

enum err_code uniques_write(struct engine *e, struct err *err)
{
    struct unique_book *b = &e->batch.filters.uniques;
    size_t n = b->entries.count;
    struct stored_unique *keys;
    size_t taken = 0;

    if (n == 0)
        return E_OK;
    keys = arena_array(&e->batch.arena, n, sizeof(*keys));
    for (size_t i = 0; i < n; i++) {
        const struct unique_entry *k = b->entries.items[i];

        if (!k->taken)
            continue;
        keys[taken++] = k->row;
        if (k->row.for_us == UNIQUE_FOR_EVER && !k->is_forever && k->row.scope <= UNIQUE_SCOPE_ROOT)
            filter_count(e, k->row.queue, FILTER_COUNT_KEYS, 1);
        if (k->row.until_at != 0 && k->row.until_at < e->sweep.uniques_at)
            e->sweep.uniques_at = k->row.until_at;
    }
    if (taken == 0)
        return E_OK;
    qsort(keys, taken, sizeof(*keys), by_place);
    return store_uniques_put(e->store, keys, taken, err);
}

/* ---- expiry ---- */

/* Until when the key is kept; 0: not any longer. */
static int64_t kept_until(const struct engine *e, const struct stored_unique *k,
                          const struct unique_holder *h)
{
    if (h->state == JOB_NONE)
        return 0;
    if (!job_state_ended(h->state))
        return e->now.wall_at + (k->for_us > LIVING_LOOK_US ? k->for_us : LIVING_LOOK_US);
    int64_t until_at = k->for_us > 0 ? h->finished_at + k->for_us : 0;

    return until_at > e->now.wall_at ? until_at : 0;
}

static enum err_code expire_some(struct engine *e, const struct stored_unique *keys, size_t n,
                                 struct err *err)
{
    struct unique_holder holders[EXPIRE_ROWS];
    struct stored_unique kept[EXPIRE_ROWS];
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++)
        holders[i] = (struct unique_holder){.job = keys[i].job};
    if (store_uniques_holders(e->store, holders, n, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++) {
        int64_t until_at = kept_until(e, &keys[i], &holders[i]);

        if (until_at == 0 && store_unique_remove(e->store, &keys[i], err) != E_OK)
            return err->code;
        if (until_at == 0)
            continue;
        kept[n_kept] = keys[i];
        kept[n_kept++].until_at = until_at;
    }
    return n_kept == 0 ? E_OK : store_uniques_put(e->store, kept, n_kept, err);
}

/* Runs before the batch judges new jobs: its book is empty. */
enum err_code uniques_expire(struct engine *e, struct err *err)
{
    struct stored_unique keys[EXPIRE_ROWS];
    int64_t next_at = TIME_NEVER;
    bool more = false;
    size_t n = 0;

    if (e->sweep.uniques_at > e->now.wall_at || sweep_rests(e))
        return E_OK;
    if (store_scopes_are_gone(e->store, &more, err) != E_OK ||
        store_uniques_next(e->store, &next_at, err) != E_OK)
        return err->code;
    if (more || next_at <= e->now.wall_at) {
        if (engine_write(e, err) != E_OK || store_uniques_lock(e->store, err) != E_OK ||
            store_uniques_due(e->store, e->now.wall_at, keys, EXPIRE_ROWS, &n, err) != E_OK)
            return err->code;
        e->batch.filters.uniques.locked = true;
        if ((n > 0 && expire_some(e, keys, n, err) != E_OK) ||
            (more && store_scopes_cut(e->store, EXPIRE_ROWS, err) != E_OK) ||
            store_uniques_next(e->store, &next_at, err) != E_OK)
            return err->code;
    }
    e->sweep.uniques_at = more ? e->now.wall_at : next_at;
    if (must_ask_store(e) && e->sweep.uniques_at > e->now.wall_at + OTHERS_LOOK_US)
        e->sweep.uniques_at = e->now.wall_at + OTHERS_LOOK_US;
    return E_OK;
}
