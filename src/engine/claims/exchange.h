/*
 * Exchange: one request of a worker, which may finish, touch and claim.
 *
 * Its parts run in different phases of the batch (batch/phases.c) and write one reply.
 * Within the batch's transaction, except where a comment says otherwise.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "engine/op.h"

struct engine;

/* Appends the logs that come with finishes and touches.  A refused log refuses nothing else. */
MUST_CHECK enum err_code exchange_logs(struct engine *e, struct err *err);

/* Writes all finishes of the batch that are done without data at once; exchange_finish does the
 * others. */
MUST_CHECK enum err_code finish_plain(struct engine *e, struct err *err);

MUST_CHECK enum err_code exchange_finish(struct engine *e, struct op *op, struct err *err);
MUST_CHECK enum err_code exchange_touch(struct engine *e, struct op *op, struct err *err);

/* After the commit: writes the end of the reply. */
void exchange_close(struct engine *e, struct op *op);
