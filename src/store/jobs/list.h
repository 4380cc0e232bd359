/*
 * Lists of jobs, in the order of their ids, a bounded stretch at a time.
 *
 * Works on readers and, for chunked work, on the writer.  The caller filters the rows: a call takes
 * no longer when few of them match.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "core/job/job.h"

struct store;

enum store_stretch {
    STRETCH_LIVE, /* jobs that have not ended */
    STRETCH_ENDED,
    STRETCH_FAILED, /* failed: has its own index */
    STRETCH_COUNT
};

/* Of the payload: the key, and what the walk reads.  Texts are valid during the call. */
typedef void store_job_fn(void *ctx, const struct job *job);

/* What is read besides the key; values may be large. */
enum store_walk_reads { WALK_KEY, WALK_LABELS, WALK_LABELS_AND_PARAMS };

struct store_walk {
    enum store_stretch which;
    struct slice text; /* sets params_match of jobs whose params contain it, and reads options
                          with a command; empty: neither */
    int64_t group;     /* only its members; 0: all jobs */
    enum store_walk_reads reads;
    int limit; /* maximum jobs per call */
    store_job_fn *on_job;
    void *ctx;
};

/* Jobs with id < below, newest first. */
MUST_CHECK enum err_code store_list_down(struct store *s, const struct store_walk *walk,
                                         int64_t below, struct err *err);

/* Jobs with above < id <= last, oldest first. */
MUST_CHECK enum err_code store_list_up(struct store *s, const struct store_walk *walk,
                                       int64_t above, int64_t last, struct err *err);
