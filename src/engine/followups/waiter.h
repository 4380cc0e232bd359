/*
 * Jobs that wait: released when all conditions are met, cancelled when one is impossible.
 *
 * Within the batch's transaction.  On a shared store a job, or a signal, that another server has
 * locked is not waited for: nothing is changed, and the caller keeps a release of what it was to
 * do.
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

/* Waits as they are read: they are judged when all have come. */
struct wait_page {
    struct stored_wait *items;
    size_t count, capacity;
};

void wait_page_take(void *page, const struct stored_wait *wait); /* a store_wait_fn */
void wait_page_cleanup(struct wait_page *page);

/* Writes the waits that the batch has made so far. */
MUST_CHECK enum err_code waits_flush(struct engine *e, struct err *err);

/* Locks the jobs of the page.  (*ret_busy)[i]: another server has locked that one, which must stay
 * as it is; never on an embedded store. */
MUST_CHECK enum err_code waiters_lock(struct engine *e, const struct wait_page *page,
                                      const bool **ret_busy, struct err *err);

/* Releases the job, which is locked, if nothing is left that it waits for and all its signals have
 * their level.  *ret_busy: another server has locked one of these; nothing was changed. */
MUST_CHECK enum err_code waiter_check(struct engine *e, int64_t waiter, bool *ret_busy,
                                      struct err *err);

/* One condition of a locked job is met, or impossible.  *ret_busy as above. */
MUST_CHECK enum err_code waiter_judge(struct engine *e, const struct stored_wait *wait,
                                      enum after_verdict verdict, const char *why, bool *ret_busy,
                                      struct err *err);

/* Cancels a job with a condition that is impossible because of the job `by`. */
MUST_CHECK enum err_code after_cancel(struct engine *e, const struct job *j, int64_t by,
                                      struct slice why, struct err *err);

/* The job waits no longer: it is cancelled or removed. */
MUST_CHECK enum err_code after_forget(struct engine *e, const struct job *j, struct err *err);
