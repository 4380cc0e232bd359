/*
 * Logs: a worker appends to the log of a job that it runs.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "engine/op.h"

struct engine;

MUST_CHECK enum err_code log_run(struct engine *e, struct op *op, struct err *err);
