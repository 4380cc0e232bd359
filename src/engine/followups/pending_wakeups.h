/*
 * Ends and signals are passed on to the jobs that wait for them; what is too much for one commit is
 * a durable row of `releases`, continued by the next batches.
 *
 * Waits leave as they are judged: the waits that are left are the work that is left.
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

/* Besides the states that a job may have ended in.  Persisted. */
enum {
    WAKEUP_GONE = 0,    /* the job was removed */
    WAKEUP_SIGNAL = -1, /* a signal that rose */
    WAKEUP_STEPS = -2,  /* steps of the job have ended, as its record says */
};

/* Writes a release for the next batches. */
MUST_CHECK enum err_code pending_wakeup_put(struct engine *e, const struct stored_release *r,
                                            struct err *err);

/* Another server has locked something of it: releases continue a little later. */
void pending_wakeups_pause(struct engine *e);

/* Passes an end on to the jobs that wait for it.  Looks at up to *room waits; the rest becomes a
 * release. */
MUST_CHECK enum err_code wakeups_for_end(struct engine *e, const struct followup_end *end,
                                         size_t *room, struct err *err);

/* Whether the end of the job is still being passed on, or still leads somewhere: until then it must
 * not be run again. */
MUST_CHECK enum err_code end_is_pending(struct engine *e, int64_t job, bool *ret_telling,
                                        struct err *err);

/* Continues the next release; *ret_over: there is none that this batch has not looked at. */
MUST_CHECK enum err_code pending_wakeups_work(struct engine *e, size_t *room, bool *ret_over,
                                              struct err *err);
