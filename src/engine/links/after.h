/*
 * What the files of `after` share: the jobs that wait, and how the steps of what they wait for have ended.
 *
 * Within the batch's transaction.  Whoever judges holds what it judges, or passes over it: see waiters_hold.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "core/job/job.h"
#include "core/route/bill.h"
#include "engine/links/links.h"

struct engine;

/* ---- steps, by the record of their job (after_steps.c) ---- */

/* Besides the states that a step may have ended in. */
enum { STEP_OPEN = -1, STEP_UNRUN = -2 };

struct step_ends {
    bool found; /* the job is there */
    struct job job;
    struct bill bill;
    struct map last; /* the number of a step, to how its last attempt ended */
};

MUST_CHECK enum err_code step_ends_load(struct engine *e, int64_t job, struct step_ends *ret,
                                        struct err *err);
void step_ends_deinit(struct step_ends *s);
static inline void step_ends_cleanup(struct step_ends *s)
{
    step_ends_deinit(s);
}

/* An enum job_state that has ended, JOB_NONE when the job is gone, STEP_OPEN, or STEP_UNRUN: it will not come to it. */
int step_ends_state(const struct step_ends *s, int step);

/* What that means for a condition on the step. */
enum after_verdict step_verdict(enum after_on on, int state);

/* Why a condition can no longer hold; step 0: on the job itself.  In the batch's arena. */
const char *after_why(struct engine *e, int64_t job, int step, int state);

/* Waits as they are read: they are looked at when all have come. */
struct wait_page {
    struct stored_wait *items;
    size_t count, capacity;
};

void wait_page_take(void *page, const struct stored_wait *wait); /* a store_wait_fn */
void wait_page_cleanup(struct wait_page *page);

/* ---- the jobs that wait (waiter.c) ---- */

/* Writes the waits that the batch has made so far. */
MUST_CHECK enum err_code waits_flush(struct engine *e, struct err *err);

/* Holds the jobs of the page against other servers.  (*ret_busy)[i]: another one has that job, which must be left as
 * it is; never on an embedded store. */
MUST_CHECK enum err_code waiters_hold(struct engine *e, const struct wait_page *page,
                                      const bool **ret_busy, struct err *err);

/* Lets the job, which is held, go on if nothing is left that it waits for, and all its signals have their level.
 * *ret_busy: another server has one of these; nothing was changed. */
MUST_CHECK enum err_code waiter_look(struct engine *e, int64_t waiter, bool *ret_busy,
                                     struct err *err);

/* One condition of a job that is held holds, or never will.  *ret_busy as above. */
MUST_CHECK enum err_code waiter_tell(struct engine *e, const struct stored_wait *wait,
                                     enum after_verdict verdict, const char *why, bool *ret_busy,
                                     struct err *err);

/* ---- signals (signal.c) ---- */

/* The signal of that name, which is made if need be. */
MUST_CHECK enum err_code signal_get(struct engine *e, struct slice name, struct stored_signal *ret,
                                    struct err *err);

/* Looks at those who wait for a signal, from the release's cursor on; *ret_left: not at all of them.  One that another
 * server has is not passed over: it would lose its turn. */
MUST_CHECK enum err_code signal_tell(struct engine *e, struct stored_release *r, size_t *room,
                                     bool *ret_left, struct err *err);

/* Those that the batch has raised, and those who wait for nothing but signals since this batch. */
MUST_CHECK enum err_code signals_settle(struct engine *e, size_t *room, struct err *err);

/* ---- what an end had cancelled (revive.c) ---- */

/* Goes on with one of the jobs that are run again; *ret_over: nothing is left, or not for this batch. */
MUST_CHECK enum err_code revive_work(struct engine *e, size_t *room, bool *ret_over,
                                     struct err *err);

/* ---- releases (release.c) ---- */

/* Besides the states that a job may have ended in.  Persisted. */
enum {
    RELEASE_GONE = 0,    /* the job was removed */
    RELEASE_SIGNAL = -1, /* a signal that rose */
    RELEASE_STEPS = -2,  /* steps of the job have ended, as its record tells */
};

/* It is worked off by the next batches. */
MUST_CHECK enum err_code release_put(struct engine *e, const struct stored_release *r,
                                     struct err *err);

/* Another server holds something of it: releases are gone on with a little later. */
void release_rest(struct engine *e);
