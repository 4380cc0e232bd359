/*
 * Fan-outs in progress: publications to many queues, and ends of jobs whose destinations must be
 * followed.
 *
 * The commit that decides writes a row; the commit that finishes the work removes it.  A row
 * describes what is left to do.  All writes run inside the caller's transaction.  On a shared store
 * a server locks the row it works on, and others skip it.
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
    int64_t id;       /* of its first job; 0: none */
    struct slice key; /* empty: none */
    uint64_t content;
    bool chained; /* by the end of a job: a job that cannot run fails at once */
    bool fired;   /* by a join: destinations are in the routing, targets have no queue and job */
    int64_t cause_queue; /* of a fired one: its log gets missing destinations; 0: none */
    int priority;
    struct slice params, body; /* of all its jobs, stored once */
    struct slice labels, routing;
    const struct spread_target *targets;
    size_t n_targets;
    size_t place; /* targets before have their jobs */
};

/* Adds it, and the shared payload under the same id. */
MUST_CHECK enum err_code store_spread_add(struct store *s, const struct stored_spread *spread,
                                          struct err *err);

/* The first one above an id that no other server has locked.  After err->bad_row ret->id is set. */
MUST_CHECK enum err_code store_spread_next(struct store *s, int64_t above, struct arena *arena,
                                           struct stored_spread *ret, struct err *err);

/* The publication with that key, without the shared payload. */
MUST_CHECK enum err_code store_spread_of_key(struct store *s, struct slice key, struct arena *arena,
                                             struct stored_spread *ret, struct err *err);

/* Number of jobs still to be added to the queue. */
MUST_CHECK enum err_code store_spread_count(struct store *s, int64_t queue, int64_t *ret_n,
                                            struct err *err);

/* Writes `place`; removes the row when all targets have their jobs. */
MUST_CHECK enum err_code store_spread_step(struct store *s, const struct stored_spread *spread,
                                           struct err *err);

/* ---- ends ---- */

struct stored_follow {
    int64_t id; /* 0: none, or not stored */
    int64_t job;
    int64_t queue; /* where it ended */
    enum job_state state;
    int step;           /* number of the step; 0: the job itself */
    bool whole;         /* the job has ended, not only a step */
    struct slice dests; /* JSON: the destinations of its queue at that time; or empty */
    size_t place;       /* destinations before are done */
};

MUST_CHECK enum err_code store_follow_add(struct store *s, const struct stored_follow *follow,
                                          struct err *err);

/* The first one above an id that no other server has locked.  After err->bad_row ret->id is set. */
MUST_CHECK enum err_code store_follow_next(struct store *s, int64_t above, struct arena *arena,
                                           struct stored_follow *ret, struct err *err);

/* Whether ends of the job are unfinished. */
MUST_CHECK enum err_code store_follow_has(struct store *s, int64_t job, bool *ret_has,
                                          struct err *err);
MUST_CHECK enum err_code store_follow_place(struct store *s, int64_t id, size_t place,
                                            struct err *err);
MUST_CHECK enum err_code store_follow_remove(struct store *s, int64_t id, struct err *err);

/* Whether any row is left, including those of other servers. */
MUST_CHECK enum err_code store_fanout_any(struct store *s, bool *ret_any, struct err *err);
