/*
 * Keys of several jobs: looked up and taken together.
 *
 * The caller enters all keys in the book (keys_open, keys_want), looks up which jobs have them
 * (keys_look) and takes the free ones (keys_take): one statement each for any number of keys.
 * keys_take waits for other servers that take the same keys, so its result is final.  A taken key
 * belongs to the batch until a job is created with it (keys_use); a key that stays unused, because
 * its job was refused, is given back before the commit or before the next book.
 *
 * Within the batch's transaction, on the engine's thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"
#include "engine/batch/names.h"
#include "store/jobs/record.h"

struct engine;

struct key_entry {
    /* The job that has the key; job 0: none, or not looked up. */
    struct stored_key who;
    /* The job that the key is wanted or taken for; job 0: it is only looked up. */
    struct stored_key put;
    bool taken; /* by this batch: it is in the store */
    bool used;  /* a job was created with it */
};

struct key_book {
    struct names by_key;
    VEC(struct key_entry *) entries; /* in the batch's arena */
};

/* Gives back the unused keys of the last book and begins a new one. */
MUST_CHECK enum err_code keys_open(struct engine *e, struct err *err);

/* Wants the key for `job`, unless another wanted it first; 0: only looks it up. */
void keys_want(struct engine *e, struct slice key, int64_t job, uint64_t content);

MUST_CHECK enum err_code keys_look(struct engine *e, struct err *err);

/* Takes the keys that are wanted for a job and that no job has. */
MUST_CHECK enum err_code keys_take(struct engine *e, struct err *err);

/* The key must be in the book. */
const struct key_entry *keys_get(const struct engine *e, struct slice key);

/* Whether the key belongs to a job, `who`; otherwise a new job may have it. */
static inline bool key_is_known(const struct key_entry *k)
{
    return k->who.job != 0 && (!k->taken || k->used);
}

/* The job is created with the key, which must be taken. */
void keys_use(struct engine *e, struct slice key, int64_t job, uint64_t content);

/* Gives back the keys that were taken and not used. */
MUST_CHECK enum err_code keys_return(struct engine *e, struct err *err);

/* The batch is over. */
void keys_clear(struct engine *e);
