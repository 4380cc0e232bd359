/*
 * Wakes the jobs that wait for an end or a signal.  What is too much for one commit is stored as a
 * row of `releases`, which the next batches continue.
 *
 * A wait is removed when it is judged: the waits that are left are the work that is left.
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/links/links.h"

struct engine;
struct followup_end;

/* States of a release in addition to those that a job may end in.  Persisted. */
enum {
    WAKEUP_GONE = 0,    /* the job was removed */
    WAKEUP_SIGNAL = -1, /* a signal that rose */
    WAKEUP_STEPS = -2,  /* steps of the job have ended: its record says how */
};

/* Stores a release for the next batches. */
MUST_CHECK enum err_code pending_wakeup_put(struct engine *e, const struct stored_release *r,
                                            struct err *err);

/* Another server has locked a waiting job or a signal: releases continue a little later. */
void pending_wakeups_pause(struct engine *e);

/* Wakes the jobs that wait for an end.  Judges up to *room waits; the rest becomes a release. */
MUST_CHECK enum err_code wakeups_for_end(struct engine *e, const struct followup_end *end,
                                         size_t *room, struct err *err);

/* Whether the end of the job has waits to judge or destinations to follow: until these are done,
 * the job must not be run again. */
MUST_CHECK enum err_code end_is_pending(struct engine *e, int64_t job, bool *ret_telling,
                                        struct err *err);

/* Continues the next release; *ret_over: this batch has continued them all. */
MUST_CHECK enum err_code pending_wakeups_work(struct engine *e, size_t *room, bool *ret_over,
                                              struct err *err);
