/*
 * What programs tell of gates with the end of an attempt: `busy` and `use`.
 *
 * Noted with the finish, carried out with the release of slots: gates are locked after jobs.
 * Engine thread only; within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "core/job/attempt.h"
#include "engine/op.h"

struct engine;
struct job;

/* Notes what the finish of the running job tells.  If it is busy with something that does not
 * exist, the job is tried again after that time instead: *end. */
void gates_told(struct engine *e, const struct job *j, const struct finish_item *item,
                struct attempt_end *end);

/* Carries it out, before the slots of the attempts come back. */
MUST_CHECK enum err_code gates_carry_out(struct engine *e, struct err *err);
