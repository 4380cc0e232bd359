/*
 * Requests about groups: open, seal, cancel, pause, resume, change data.
 *
 * Within the batch's transaction.  Each but a change of data is safe to repeat.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "engine/op.h"

struct engine;

MUST_CHECK enum err_code group_op_run(struct engine *e, struct op *op, struct err *err);

/* Whether no other server's batch may run beside the op: from its answer on nothing in the tree
 * starts. */
bool group_op_is_alone(const struct op *op);
