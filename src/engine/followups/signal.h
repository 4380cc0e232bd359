/*
 * Signals: durable counters that jobs wait for.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/op.h"
#include "store/links/links.h"

struct engine;

MUST_CHECK enum err_code signal_run(struct engine *e, struct op *op, struct err *err);
MUST_CHECK enum err_code signal_raise(struct engine *e, struct slice name, int64_t count,
                                      int64_t *ret_level, struct err *err);

/* Finds the signal by name, or creates it. */
MUST_CHECK enum err_code signal_get(struct engine *e, struct slice name, struct stored_signal *ret,
                                    struct err *err);

/* Wakes jobs that wait for a signal, from the release's cursor on; *ret_left: some are left.  Stops
 * at a job that another server has locked, which would lose its turn otherwise. */
MUST_CHECK enum err_code signal_wake_waiters(struct engine *e, struct stored_release *r,
                                             size_t *room, bool *ret_left, struct err *err);

/* Wakes the jobs that wait for signals raised in this batch, and checks the batch's new jobs that
 * wait for signals only. */
MUST_CHECK enum err_code signals_settle(struct engine *e, size_t *room, struct err *err);
