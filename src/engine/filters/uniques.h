/*
 * Keys of `unique` that a batch looks at: looked up as a set, taken in memory, written at the end.
 *
 * On a shared store the first look takes the lock of all keys (store_uniques_lock), so what is
 * found holds until the commit.  uniques_peek looks without the lock, for judgements that are made
 * again later.
 * Within the batch's transaction, on the engine's thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "core/filter/filter_def.h"
#include "engine/batch/names.h"
#include "store/filters/uniques.h"

struct engine;

struct unique_entry {
    struct stored_unique row;    /* as in the store, or as this batch has taken it */
    struct unique_holder holder; /* of row.job, if `wants_holder` */
    bool wants_holder;
    bool looked;
    bool taken;      /* by this batch */
    bool is_forever; /* in the store */
};

struct unique_undo {
    struct unique_entry *entry;
    struct unique_entry was;
};

struct unique_book {
    struct names by_key;
    VEC(struct unique_entry *) entries; /* in the batch's arena */
    size_t n_looked;
    bool locked;
    bool holders_due;             /* the jobs of some keys are to be looked up */
    VEC(struct unique_undo) undo; /* since uniques_begin */
};

/* Which key of a filter. */
struct unique_ref {
    const struct filter_unique *filter;
    int64_t queue;
    int64_t scope;
    struct slice key;
};

/* The entry of the key, added to the book if needed. */
struct unique_entry *unique_want(struct engine *e, const struct unique_ref *ref);

/* Looks up all entries that were added since the last look. */
MUST_CHECK enum err_code uniques_look(struct engine *e, struct err *err);
MUST_CHECK enum err_code uniques_peek(struct engine *e, struct err *err);

/* Whether a job has the key now; entry->row.job says which. */
bool unique_is_held(const struct engine *e, const struct unique_entry *k,
                    const struct filter_unique *filter);

void unique_take(struct engine *e, struct unique_entry *k, const struct unique_ref *ref,
                 int64_t job);

/* What is taken from uniques_begin on can be undone, until the next begin. */
void uniques_begin(struct engine *e);
void uniques_undo(struct engine *e);

/* Undoes all but the first `kept` takes. */
void uniques_undo_from(struct engine *e, size_t kept);

/* Before the commit. */
MUST_CHECK enum err_code uniques_write(struct engine *e, struct err *err);

/* Looks at keys whose time has come, and removes those of scopes that are gone. */
MUST_CHECK enum err_code uniques_expire(struct engine *e, struct err *err);

void uniques_clear(struct engine *e);
void uniques_deinit(struct engine *e);
