/*
 * Ready jobs that have not changed since they were added, so that a claim need not read them.
 *
 * For shared stores.  An entry is valid while the transaction has the job locked; for the only
 * server it is valid until the server changes the job, another server joins, or a transaction is
 * rolled back. The embedded store needs no cache: reading it costs no more.
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
    bool known; /* the payload is small, and cached */
    struct slice key, params, labels, options, routing;
    char bytes[]; /* of the texts */
};

/* All zero: empty. */
struct ready_cache {
    struct map jobs; /* by id */
    size_t size;     /* in bytes */
};

/* Removes all entries. */
void ready_cache_clear(struct ready_cache *h);

/* Adds a job with a copy of its payload.  A job with a body or a large payload is not cached. */
void ready_cache_put(struct ready_cache *h, const struct job *j);

/* Adds a job whose payload has not been read. */
void ready_cache_put_place(struct ready_cache *h, int64_t id, int64_t queue, int priority);

/* The job has changed or is no longer ready. */
void ready_cache_forget(struct ready_cache *h, int64_t id);

/* NULL: not cached.  Valid until an entry is added or removed. */
static inline const struct cached_job *ready_cache_find(const struct ready_cache *h, int64_t id)
{
    return map_find(&h->jobs, id);
}
