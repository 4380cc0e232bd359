/*
 * Waiting jobs: released when all conditions are met, cancelled when one is impossible.
 *
 * Within the batch's transaction.  On a shared store no function waits for a job or signal that
 * another server has locked: it changes nothing, and the caller stores a release to try again.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/job/job.h"
#include "core/route/routing.h"
#include "store/links/links.h"

struct engine;

/* Waits that were read together; they are judged when all are read. */
struct wait_page {
    struct stored_wait *items;
    size_t count, capacity;
};

/* A store_wait_fn. */
void wait_page_take(void *page, const struct stored_wait *wait);
void wait_page_cleanup(struct wait_page *page);

/* Writes the waits that the batch has added so far. */
MUST_CHECK enum err_code waits_flush(struct engine *e, struct err *err);

/* Locks the jobs of the page.  (*ret_busy)[i]: another server has locked the job, which must not be
 * changed; never on an embedded store. */
MUST_CHECK enum err_code waiters_lock(struct engine *e, const struct wait_page *page,
                                      const bool **ret_busy, struct err *err);

/* Releases the locked job if no condition on a job is left and all its signals have their level.
 * *ret_busy: another server has locked one of the signals; nothing was changed. */
MUST_CHECK enum err_code waiter_check(struct engine *e, int64_t waiter, bool *ret_busy,
                                      struct err *err);

/* One condition of a locked job is met, or impossible.  *ret_busy as above. */
MUST_CHECK enum err_code waiter_judge(struct engine *e, const struct stored_wait *wait,
                                      enum after_verdict verdict, const char *why, bool *ret_busy,
                                      struct err *err);

/* Cancels a job with a condition that is impossible because of the job `by`. */
MUST_CHECK enum err_code after_cancel(struct engine *e, const struct job *j, int64_t by,
                                      struct slice why, struct err *err);

/* Removes the waits of a job that is being cancelled or removed. */
MUST_CHECK enum err_code after_forget(struct engine *e, const struct job *j, struct err *err);
