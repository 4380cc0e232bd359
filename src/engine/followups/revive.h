/*
 * Revivals: running a job again also retries the jobs that its end had cancelled.
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

/* `target` is run again: this batch or the next ones retry the jobs that it had cancelled. */
MUST_CHECK enum err_code revive_begin(struct engine *e, int64_t target, struct err *err);

/* Counts the jobs that this retries, directly or through each other, up to a limit. */
MUST_CHECK enum err_code revive_count(struct engine *e, int64_t target, struct revived *ret_revived,
                                      struct err *err);

/* Continues one revival; *ret_over: none is left for this batch. */
MUST_CHECK enum err_code revive_work(struct engine *e, size_t *room, bool *ret_over,
                                     struct err *err);
