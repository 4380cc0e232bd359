/*
 * Lists of jobs, in the order of their ids, a bounded stretch at a time.
 *
 * Works on readers and, for chunked work, on the writer.  What is judged row by row is judged by the
 * caller: no stretch takes longer because few rows match.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/job/job.h"

struct store;

enum store_stretch {
    STRETCH_LIVE, /* jobs that have not ended */
    STRETCH_ENDED,
    STRETCH_FAILED, /* ended in failure: has an index of its own */
    STRETCH_COUNT
};

/* Without body and result.  Texts are valid during the call. */
typedef void store_job_fn(void *ctx, const struct job *job);

/* At most `limit` jobs with id < below, newest first. */
MUST_CHECK enum err_code store_list_down(struct store *s, enum store_stretch which, int64_t below,
                                         int limit, store_job_fn *on_job, void *ctx,
                                         struct err *err);

/* At most `limit` jobs with above < id <= last, oldest first. */
MUST_CHECK enum err_code store_list_up(struct store *s, enum store_stretch which, int64_t above,
                                       int64_t last, int limit, store_job_fn *on_job, void *ctx,
                                       struct err *err);
