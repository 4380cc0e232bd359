/*
 * Jobs in the store.  Writes run inside the caller's transaction.  Each is guarded by the state and
 * the token that the caller has seen, and reports whether it took effect.
 *
 * Loaded texts are copied into the arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/job/job.h"

struct store;

/* Adds new jobs: id, queue, state, priority, due_at, awaited, the texts and the history (holds,
 * has_dests, step …) are stored, everything else is 0. */
MUST_CHECK enum err_code store_jobs_insert(struct store *s, const struct job *jobs, size_t n,
                                           struct err *err);

/* Which parts of a job are read. */
enum {
    LOAD_STATE = 0,   /* the columns of the row, without the payload */
    LOAD_PAYLOAD = 1, /* and the payload without the body, which may be large */
    LOAD_BODY = 2,
    LOAD_ALL = LOAD_PAYLOAD | LOAD_BODY,
    LOAD_PREVIEW = 4, /* as a list shows it: of values above LISTED_VALUE_MAX only the start and the
                       * size, in `cut`; no body */
    LOAD_LIVE = 8,    /* only a job that has not ended */
};

/* Bytes of a value that a list shows whole; and of a routing, beyond which it is not read. */
enum { LISTED_VALUE_MAX = 4096, LISTED_BILL_MAX = 64 << 10 };

/* A job that is alive or has ended.  A server that shares the store locks it, alive, with
 * LOAD_STATE and LOAD_LIVE, until the transaction ends. */
MUST_CHECK enum err_code store_job_load(struct store *s, int64_t id, unsigned parts,
                                        struct arena *arena, struct job *ret_job, bool *ret_found,
                                        struct err *err);

/* The job's options; empty: none. */
MUST_CHECK enum err_code store_job_options(struct store *s, int64_t id, struct arena *arena,
                                           struct slice *ret_options, struct err *err);

struct store_claim {
    int64_t token;
    uint32_t node;
    int64_t worker;
    int64_t now_at;
    int64_t lease_us;
    int64_t until_at;
    size_t bytes_max; /* no more jobs are taken once their payload has this size; 0: no limit */
};

/* Makes the ready jobs jobs[i].id running, and fills in what a worker needs and what the attempt
 * continues from (lost, has_dests, step, failed_step, attempts_before).  A job that is no longer
 * ready gets the state JOB_NONE.  A job beyond bytes_max stays JOB_READY, with its queue and
 * priority. */
MUST_CHECK enum err_code store_jobs_claim(struct store *s, const struct store_claim *claim,
                                          struct job *jobs, size_t n, struct arena *arena,
                                          struct err *err);

/* Writes all that may change outside of a claim, except the payload.  `was` is the job as the
 * caller has seen it.  *ret_hit false: it has changed since, and nothing was written. */
MUST_CHECK enum err_code store_job_update(struct store *s, const struct job *was,
                                          const struct job *now, bool *ret_hit, struct err *err);

/* Replaces params and labels; an empty one is left unchanged. */
MUST_CHECK enum err_code store_job_change_payload(struct store *s, int64_t id, struct slice params,
                                                  struct slice labels, struct err *err);

/* Replaces the parts of a job's route.  data NULL: unchanged; otherwise empty: removed. */
MUST_CHECK enum err_code store_job_set_route(struct store *s, int64_t id, struct slice options,
                                             struct slice routing, struct slice assigned,
                                             struct err *err);

/* Stores the result of a step; the job continues. */
MUST_CHECK enum err_code store_job_keep_result(struct store *s, int64_t id, struct slice result,
                                               struct err *err);

/* Moves a live job to `ended`: state, finished_at, counters, exit, cause, text, result. */
MUST_CHECK enum err_code store_job_end(struct store *s, const struct job *was,
                                       const struct job *now, bool *ret_hit, struct err *err);

struct done_item {
    int64_t id, token;
    /* Of jobs that were ended these are filled in.  A caller that knows the queue, and that the job
     * is in no group or lane, saves a look at the store; 0: unknown. */
    int64_t queue;
    int64_t group, lane;
    bool hit; /* out: the job was ended */
};

/* Ends running jobs as done, without any further data.  Items are sorted by id.  A job that does
 * not run under its token, has a history or is awaited is left unchanged. */
MUST_CHECK enum err_code store_jobs_done(struct store *s, struct done_item *items, size_t n,
                                         int64_t now_at, struct arena *arena, struct err *err);

/* Makes an ended job live again, as `j` says: queue, state, priority, due_at and what makes a
 * history.  Token and attempts go on; the result is forgotten, and nobody waits for it. */
MUST_CHECK enum err_code store_job_revive(struct store *s, const struct job *j, struct err *err);

/* Removes a job with its payload, record, key and log.  Needs id and state. */
MUST_CHECK enum err_code store_job_remove(struct store *s, const struct job *j, struct err *err);

struct touch_status {
    struct slice text;
    bool has_text;
    int64_t done, total;
    bool has_done;
    struct slice unit;
    bool has_unit;
    int64_t expected_at; /* 0: unknown */
    bool has_expected;
};

enum touch_result { TOUCH_LOST, TOUCH_HELD, TOUCH_CANCELLING };

/* Extends a lease.  TOUCH_LOST: the job does not run under that token. */
MUST_CHECK enum err_code store_job_touch(struct store *s, int64_t id, int64_t token,
                                         int64_t until_at, const struct touch_status *status,
                                         enum touch_result *ret_result, struct err *err);

/* The highest id of all jobs; 0: there is none. */
MUST_CHECK enum err_code store_job_newest(struct store *s, int64_t *ret_id, struct err *err);
