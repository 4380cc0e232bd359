/*
 * Exchange: one request of a worker, which may finish, touch and claim.
 *
 * Its parts run in different phases of the batch (batch/phases.c) and write one reply.
 * Within the batch's transaction, unless it says otherwise.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "engine/op.h"

struct engine;

/* Logs that come with finishes and touches.  One that cannot be taken harms nothing else. */
MUST_CHECK enum err_code exchange_logs(struct engine *e, struct err *err);

/* Ends as one set all finishes of the batch that are just done; exchange_finish does the rest. */
MUST_CHECK enum err_code finish_plain(struct engine *e, struct err *err);

MUST_CHECK enum err_code exchange_finish(struct engine *e, struct op *op, struct err *err);
MUST_CHECK enum err_code exchange_touch(struct engine *e, struct op *op, struct err *err);

/* After the commit: writes the end of the reply. */
void exchange_close(struct engine *e, struct op *op);
