/*
 * Follows the end of a job or step: creates the jobs that its destinations name.
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

/* Follows the destinations of the step, of its queue and of the job itself, up to the size of this
 * commit.  The rest is stored as a row of `follows` for the next commits. */
MUST_CHECK enum err_code follow_end(struct engine *e, const struct followup_end *end,
                                    struct err *err);

/* Continues an end that earlier commits have left unfinished; *ret_over: there is none. */
MUST_CHECK enum err_code follow_work(struct engine *e, bool *ret_over, struct err *err);

/* Whether an end of the job still has destinations to follow: until these are done, the job must
 * neither be run again nor be removed. */
MUST_CHECK enum err_code follow_is_left(struct engine *e, int64_t job, bool *ret_left,
                                        struct err *err);
