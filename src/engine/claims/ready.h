/*
 * The next ready jobs of one queue, in claiming order: higher priority first, then the older id.
 *
 * Invariant: the list is a prefix of the queue's ready jobs; `complete` means that there are no
 * others.  An empty incomplete list is filled again from the store's index.  It keeps at most
 * READY_MAX jobs.
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
    size_t most; /* maximum jobs it keeps and reads at once; 0: READY_MAX and READY_FILL */
};

static inline bool ready_is_known_empty(const struct ready *r)
{
    return r->complete && r->count == 0;
}

/* Whether `a` is claimed before `b`. */
bool ready_comes_before(struct ready_ref a, struct ready_ref b);

void ready_init(struct ready *r);
void ready_deinit(struct ready *r);

/* Empties the list: the next claim fills it from the store. */
void ready_reset(struct ready *r);

/* A job of the queue became ready. */
void ready_add(struct ready *r, struct ready_ref ref);

/* Puts back a job that was taken but stays ready: it comes before all jobs that are not in the
 * list. */
void ready_put_back(struct ready *r, struct ready_ref ref);

/* A job of the queue is no longer ready, for another reason than ready_take. */
void ready_remove(struct ready *r, struct ready_ref ref);

/* Fills the list if it is empty and incomplete. */
MUST_CHECK enum err_code ready_fill(struct ready *r, struct store *s, int64_t queue,
                                    struct err *err);

/* The same on a shared store: locks at most `most` jobs that no other server has locked. */
MUST_CHECK enum err_code ready_fill_held(struct ready *r, struct store *s, int64_t queue,
                                         size_t most, struct err *err);

/* The first job, NULL when the list is empty.  Valid until the list changes. */
const struct ready_ref *ready_first(const struct ready *r);
void ready_take(struct ready *r);

/* The i-th job of the list, NULL after its end. */
const struct ready_ref *ready_at(const struct ready *r, size_t i);
