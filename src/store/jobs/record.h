/*
 * A job's record (the attempts that were followed by another) and the keys that jobs are known by.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "core/job/job.h"

struct store;

MUST_CHECK enum err_code store_progress_add(struct store *s, int64_t job,
                                            const struct progress_entry *e, struct err *err);

typedef void store_progress_fn(void *ctx, const struct progress_entry *entry);

MUST_CHECK enum err_code store_progress_load(struct store *s, int64_t job,
                                             store_progress_fn *on_entry, void *ctx,
                                             struct err *err);

/* How an earlier claim of the job ended; JOB_OUT_NONE when there was no such claim. */
MUST_CHECK enum err_code store_progress_find(struct store *s, int64_t job, int64_t token,
                                             enum job_outcome *ret_outcome, struct err *err);

/* ---- keys ----
 *
 * A key is a text of any bytes that belongs to at most one job.  Both work on sets, with one statement for up to a
 * thousand keys; those of a set differ. */

struct stored_key {
    struct slice key;
    int64_t job;
    uint64_t content; /* hash of what came with the key */
};

/* Fills in job and content; job 0: nobody has the key. */
MUST_CHECK enum err_code store_keys_find(struct store *s, struct stored_key *keys, size_t n,
                                         struct err *err);

/* Gives each key to the job that is named with it, unless it belongs to another: then job and content become those of
 * that one.  Another server that adds the same key at the same time is waited for, and whoever commits first has it: a
 * lost race is no error.  All servers add keys in the order of their bytes, so that none waits for the other in a circle. */
MUST_CHECK enum err_code store_keys_add(struct store *s, struct stored_key *keys, size_t n,
                                        struct err *err);

/* They must have been added in the same transaction: nobody else has seen them. */
MUST_CHECK enum err_code store_keys_remove(struct store *s, const struct stored_key *keys, size_t n,
                                           struct err *err);
