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

/* *ret_job is 0 when the key is not known. */
MUST_CHECK enum err_code store_key_find(struct store *s, struct slice key, int64_t *ret_job,
                                        uint64_t *ret_content, struct err *err);
MUST_CHECK enum err_code store_key_add(struct store *s, struct slice key, int64_t job,
                                       uint64_t content, struct err *err);
