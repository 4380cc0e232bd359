/*
 * Keys of a set of jobs: looked up and taken together.
 *
 * Whoever makes jobs with keys first opens the book with all of them (keys_open, keys_want), looks
 * up who has them (keys_look) and takes those that nobody has (keys_take): one statement each,
 * whatever their number.  From then on it is settled who has them: another server that wanted one
 * at the same moment was waited for, and either has it or not.  A key that was taken belongs to the
 * batch until a job is made with it (keys_use); one that is not used, because its job is refused
 * after all, is given back before the commit, or before the next book.
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
    struct stored_key who; /* job 0: nobody, or not looked up */
    struct stored_key
        put;    /* the job it is wanted for, or was taken for; job 0: it is only looked up */
    bool taken; /* by this batch: it is in the store */
    bool used;  /* and a job has been made with it */
};

struct key_book {
    struct names by_key;
    VEC(struct key_entry *) entries; /* in the batch's arena */
};

/* Gives back what the last book has not used, and begins another. */
MUST_CHECK enum err_code keys_open(struct engine *e, struct err *err);

/* `job` is to have the key, unless another wanted it first; 0: it is only looked up. */
void keys_want(struct engine *e, struct slice key, int64_t job, uint64_t content);

MUST_CHECK enum err_code keys_look(struct engine *e, struct err *err);

/* Those that are wanted for a job, and not known. */
MUST_CHECK enum err_code keys_take(struct engine *e, struct err *err);

/* It must be in the book. */
const struct key_entry *keys_get(const struct engine *e, struct slice key);

/* Whether the key belongs to a job, `who`; else a new one may have it. */
static inline bool key_is_known(const struct key_entry *k)
{
    return k->who.job != 0 && (!k->taken || k->used);
}

/* The job is made with the key, which was taken. */
void keys_use(struct engine *e, struct slice key, int64_t job, uint64_t content);

/* Gives back what was taken and not used. */
MUST_CHECK enum err_code keys_return(struct engine *e, struct err *err);

void keys_clear(struct engine *e); /* the batch is over */
