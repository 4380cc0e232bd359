/*
 * A job's record (its earlier attempts), and the keys of jobs.
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

/* The outcome of an earlier claim of the job; JOB_OUT_NONE: there was no such claim. */
MUST_CHECK enum err_code store_progress_find(struct store *s, int64_t job, int64_t token,
                                             enum job_outcome *ret_outcome, struct err *err);

/* ---- keys ----
 *
 * A key is a text of any bytes and belongs to at most one job.  The functions work on sets of
 * different keys, with one statement for up to a thousand of them. */

struct stored_key {
    struct slice key;
    int64_t job;
    uint64_t content; /* hash of the content that came with the key */
};

/* Fills in job and content; job 0: the key is free. */
MUST_CHECK enum err_code store_keys_find(struct store *s, struct stored_key *keys, size_t n,
                                         struct err *err);

/* Gives each key to its job, unless it belongs to another: then job and content become those of the
 * owner. When another server adds the same key at the same time, waits for it; the first commit
 * gets the key, and a lost race is no error.  Keys must be sorted by their bytes, so that servers
 * cannot deadlock. */
MUST_CHECK enum err_code store_keys_add(struct store *s, struct stored_key *keys, size_t n,
                                        struct err *err);

/* Only keys that were added in the same transaction. */
MUST_CHECK enum err_code store_keys_remove(struct store *s, const struct stored_key *keys, size_t n,
                                           struct err *err);
