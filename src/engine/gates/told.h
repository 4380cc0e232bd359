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

/* Notes what the finish of the running job tells.  A job may speak only of its lane and of what it
 * needs: `busy` of anything else fails the attempt (*end), `use` is left out. */
MUST_CHECK enum err_code gates_told(struct engine *e, const struct job *j,
                                    const struct finish_item *item, struct attempt_end *end,
                                    struct err *err);

/* Shared stores: locks the gates of finishes and requests of the batch, in the order of their
 * ids. */
MUST_CHECK enum err_code gates_lock_told(struct engine *e, struct err *err);

/* Carries it out, before the slots of the attempts come back. */
MUST_CHECK enum err_code gates_carry_out(struct engine *e, struct err *err);
