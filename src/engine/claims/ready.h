/*
 * The next ready jobs of one queue, in claiming order: higher priority first, then the older id.
 *
 * Invariant: the list is a prefix of the queue's ready jobs; `complete` says that there are no
 * others. An incomplete list that runs empty is filled again from the store's index.  At most
 * READY_MAX are kept, whatever the backlog.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "store/jobs/jobs.h"
#include "store/jobs/ready.h"

struct store;

enum { READY_MAX = 10000, READY_FILL = 2000 };

struct ready {
    struct ready_ref *refs; /* [head, head + count) in order */
    size_t head, count, capacity;
    bool complete;
};

/* The order of claiming. */
bool ready_comes_before(struct ready_ref a, struct ready_ref b);

void ready_init(struct ready *r);
void ready_deinit(struct ready *r);

/* Forgets everything: the next look fills it from the store. */
void ready_reset(struct ready *r);

/* A job of the queue became ready. */
void ready_add(struct ready *r, struct ready_ref ref);

/* One that was taken from it, and stays ready after all: it comes before all that is not in the
 * list. */
void ready_put_back(struct ready *r, struct ready_ref ref);

/* A job of the queue is no longer ready, other than by ready_take. */
void ready_remove(struct ready *r, struct ready_ref ref);

/* Makes sure that the list has its first one, if there is any. */
MUST_CHECK enum err_code ready_fill(struct ready *r, struct store *s, int64_t queue,
                                    struct err *err);

/* The same on a shared store, with at most `most` jobs that no other server has locked: they are
 * locked for the batch. */
MUST_CHECK enum err_code ready_fill_held(struct ready *r, struct store *s, int64_t queue,
                                         size_t most, struct err *err);

/* The first one, NULL when the list is empty.  Valid until the list changes. */
const struct ready_ref *ready_first(const struct ready *r);
void ready_take(struct ready *r);

/* The i-th of the list, NULL behind its end. */
const struct ready_ref *ready_at(const struct ready *r, size_t i);
