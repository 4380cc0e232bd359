/*
 * Where the end of a job or of a step leads.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct engine;
struct followup_end;

/* Follows the destinations of its queue, its step and the job itself: as many as belong into this
 * commit.  The others are a durable row of `follows`, for the next ones. */
MUST_CHECK enum err_code follow_end(struct engine *e, const struct followup_end *end,
                                    struct err *err);

/* Continues an end that earlier commits have left; *ret_over: there is none. */
MUST_CHECK enum err_code follow_work(struct engine *e, bool *ret_over, struct err *err);

/* Whether an end of the job still leads somewhere: until then it must neither be run again nor be
 * removed. */
MUST_CHECK enum err_code follow_is_left(struct engine *e, int64_t job, bool *ret_left,
                                        struct err *err);
