/*
 * Touch: a worker renews leases and reports progress.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "engine/op.h"

struct engine;

MUST_CHECK enum err_code touch_run(struct engine *e, struct op *op, struct err *err);
