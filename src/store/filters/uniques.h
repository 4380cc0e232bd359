/*
 * Keys of `unique` and the jobs that have them.
 *
 * A key is known by its scope and a hash of 128 bits.  Functions work on sets, with one statement
 * for up to a thousand keys.  Writes run inside the caller's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/job/state.h"

struct store;

/* Scopes are the ids of groups, and: */
enum { UNIQUE_SCOPE_ALL = 0, UNIQUE_SCOPE_ROOT = 1 };

static inline int64_t unique_scope_queue(int64_t queue)
{
    return -queue;
}

/* Persisted values of for_us; above 0: time after the end of its job. */
enum { UNIQUE_FOR_EVER = 0, UNIQUE_FOR_LIVING = -1 };

struct stored_unique {
    int64_t scope;
    int64_t hash[2];
    int64_t job; /* 0: nobody has the key */
    int64_t queue;
    int64_t for_us;
    int64_t until_at; /* when it is looked at again whether it is still kept; 0: never */
};

/* The job of a key. */
struct unique_holder {
    int64_t job;
    enum job_state state; /* JOB_NONE: it does not exist */
    int64_t finished_at;  /* of an ended one */
};

/* Shared stores: waits for other servers that judge by keys, until their commits.  The keys do not
 * change until the transaction ends. */
MUST_CHECK enum err_code store_uniques_lock(struct store *s, struct err *err);

/* Fills in job, for_us and until_at. */
MUST_CHECK enum err_code store_uniques_find(struct store *s, struct stored_unique *keys, size_t n,
                                            struct err *err);

MUST_CHECK enum err_code store_uniques_holders(struct store *s, struct unique_holder *holders,
                                               size_t n, struct err *err);

/* Adds the keys, which are different, or gives them to other jobs. */
MUST_CHECK enum err_code store_uniques_put(struct store *s, const struct stored_unique *keys,
                                           size_t n, struct err *err);

MUST_CHECK enum err_code store_unique_remove(struct store *s, const struct stored_unique *key,
                                             struct err *err);

/* Keys that are to be looked at, at most `max`; and when the next one is, TIME_NEVER: never. */
MUST_CHECK enum err_code store_uniques_due(struct store *s, int64_t now_at,
                                           struct stored_unique *ret_keys, size_t max,
                                           size_t *ret_n, struct err *err);
MUST_CHECK enum err_code store_uniques_next(struct store *s, int64_t *ret_at, struct err *err);

/* The scope is gone: its keys are removed by store_scopes_cut, up to `max` at a time. */
MUST_CHECK enum err_code store_scope_gone(struct store *s, int64_t scope, struct err *err);
MUST_CHECK enum err_code store_scopes_are_gone(struct store *s, bool *ret_are, struct err *err);
MUST_CHECK enum err_code store_scopes_cut(struct store *s, size_t max, struct err *err);
