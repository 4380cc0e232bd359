/*
 * Fan-outs that are worked off: publications to many queues, and ends that still lead somewhere.
 *
 * Rows are written by the commit that decides, and leave with the one that carries out the last of it: what is left in
 * them is what is left to do.  All writes run inside the caller's transaction; on a shared store whoever works off a row
 * holds it, and others pass over it.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/job/state.h"

struct store;

/* ---- publications ---- */

struct spread_target {
    int64_t queue, job;
};

struct stored_spread {
    int64_t id;       /* of its first job; 0: there is none */
    struct slice key; /* empty: none */
    uint64_t content;
    bool chained; /* by the end of a job: what cannot be run fails at once */
    bool
        fired; /* by a join: its bill has the destinations, each of which is a target without queue and job */
    int64_t cause_queue; /* of one that was fired: its log tells what leads nowhere; 0: none */
    int priority;
    struct slice params, body; /* of all its jobs, stored once */
    struct slice labels, bill;
    const struct spread_target *targets;
    size_t n_targets;
    size_t place; /* those before have their jobs */
};

/* With what its jobs share, under the same id. */
MUST_CHECK enum err_code store_spread_add(struct store *s, const struct stored_spread *spread,
                                          struct err *err);

/* The first above an id that no other server is at.  Of one that is damaged (err->bad_row) ret->id is set. */
MUST_CHECK enum err_code store_spread_next(struct store *s, int64_t above, struct arena *arena,
                                           struct stored_spread *ret, struct err *err);

/* That which was published under the key, without what its jobs share. */
MUST_CHECK enum err_code store_spread_of_key(struct store *s, struct slice key, struct arena *arena,
                                             struct stored_spread *ret, struct err *err);

/* How many jobs are still to be made in the queue. */
MUST_CHECK enum err_code store_spread_count(struct store *s, int64_t queue, int64_t *ret_n,
                                            struct err *err);

/* All targets before `place` have their jobs; when those are all of them, the row goes. */
MUST_CHECK enum err_code store_spread_step(struct store *s, const struct stored_spread *spread,
                                           struct err *err);

/* ---- ends ---- */

struct stored_follow {
    int64_t id; /* 0: there is none, or it is not stored */
    int64_t job;
    int64_t queue; /* in which it ended */
    enum job_state state;
    int step;           /* its number; 0: the job itself */
    bool whole;         /* the job has ended, not only a step of it */
    struct slice dests; /* JSON: where its queue led at that time; or empty */
    size_t place;       /* destinations before have been followed */
};

MUST_CHECK enum err_code store_follow_add(struct store *s, const struct stored_follow *follow,
                                          struct err *err);

/* The first above an id that no other server is at.  Of one that is damaged (err->bad_row) ret->id is set. */
MUST_CHECK enum err_code store_follow_next(struct store *s, int64_t above, struct arena *arena,
                                           struct stored_follow *ret, struct err *err);

/* Whether ends of the job still lead somewhere. */
MUST_CHECK enum err_code store_follow_has(struct store *s, int64_t job, bool *ret_has,
                                          struct err *err);
MUST_CHECK enum err_code store_follow_place(struct store *s, int64_t id, size_t place,
                                            struct err *err);
MUST_CHECK enum err_code store_follow_remove(struct store *s, int64_t id, struct err *err);

/* Whether anything is to be worked off, also by other servers. */
MUST_CHECK enum err_code store_fanout_any(struct store *s, bool *ret_any, struct err *err);
