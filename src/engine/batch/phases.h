/*
 * The order of a batch, as one table (phases.c): a row for each step of the batch as a whole, and
 * for each kind of op.  A new use case is one file and a row there.
 *
 * Within the batch's transaction, on the engine's thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"

struct batch;
struct engine;

/* Runs the batch from its first step to its commit.  An error is the store's: nothing of the batch
 * happened. */
MUST_CHECK enum err_code phases_run(struct engine *e, struct batch *b, struct err *err);
