/*
 * Revivals: what the end of a job had cancelled is brought back when that job is run again.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct engine;
struct revived;

/* The job is run again: what it had cancelled is brought back, by this batch or the next ones. */
MUST_CHECK enum err_code revive_begin(struct engine *e, int64_t target, struct err *err);

/* Counts what that brings back, also by way of each other; a bounded number of them. */
MUST_CHECK enum err_code revive_count(struct engine *e, int64_t target, struct revived *ret_revived,
                                      struct err *err);

/* Continues with one of the jobs that are run again; *ret_over: nothing is left, or not for this
 * batch. */
MUST_CHECK enum err_code revive_work(struct engine *e, size_t *room, bool *ret_over,
                                     struct err *err);
