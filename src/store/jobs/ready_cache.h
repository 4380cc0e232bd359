/*
 * What is known of ready jobs that are as they were made, so that a claim need not read them.
 *
 * On a shared store this holds for the jobs that the transaction holds.  For the sole server it lasts: what it has
 * written or read stays true until it changes it itself, another server joins, or a transaction is rolled back.
 * Nothing is kept of an embedded store: reading it costs no more.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/slice.h"

struct job;

struct cached_job {
    int64_t queue;
    int priority;
    bool known; /* what it carries is little, and here */
    struct slice key, params, labels, options, bill;
    char bytes[]; /* theirs */
};

/* All zero: empty. */
struct ready_cache {
    struct map jobs; /* by id */
    size_t size;     /* bytes of all of them */
};

/* Forgets everything. */
void ready_cache_clear(struct ready_cache *h);

/* A job's id, queue, priority and what it carries, which is copied.  A body, or much, stays unknown. */
void ready_cache_put(struct ready_cache *h, const struct job *j);

/* The same of a job of which nothing more was read yet. */
void ready_cache_put_place(struct ready_cache *h, int64_t id, int64_t queue, int priority);

/* It has changed, or has left the ready ones. */
void ready_cache_forget(struct ready_cache *h, int64_t id);

/* NULL: nothing is known of it.  Valid until anything is noted or forgotten. */
static inline const struct cached_job *ready_cache_find(const struct ready_cache *h, int64_t id)
{
    return map_find(&h->jobs, id);
}
