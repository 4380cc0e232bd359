/*
 * When jobs ended, for retention.  One row for the jobs that a batch ended in one queue and state.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/job/state.h"

struct store;

struct ending {
    int64_t id;
    int64_t queue;
    enum job_state state;
    int64_t finished_at;
    const int64_t *jobs;
    size_t n_jobs;
};

MUST_CHECK enum err_code store_ending_add(struct store *s, const struct ending *e, struct err *err);

/* The oldest row of a queue and state, with its jobs in the arena; id 0: there is none. */
MUST_CHECK enum err_code store_ending_oldest(struct store *s, int64_t queue, enum job_state state,
                                             struct arena *arena, struct ending *ret_ending,
                                             struct err *err);

/* The next queue number with endings; 0: none.  The queue may have been removed. */
MUST_CHECK enum err_code store_ending_next_queue(struct store *s, int64_t above, int64_t *ret_queue,
                                                 struct err *err);

/* Removes at most `limit` endings of a queue. */
MUST_CHECK enum err_code store_ending_remove_queue(struct store *s, int64_t queue, size_t limit,
                                                   size_t *ret_n, struct err *err);
MUST_CHECK enum err_code store_ending_remove(struct store *s, int64_t id, struct err *err);
