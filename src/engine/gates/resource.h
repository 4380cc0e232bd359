/*
 * Resources: defined, shut and opened by people.
 *
 * Engine thread only; within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "engine/op.h"
#include "store/gates/gates.h"

struct engine;
struct gate;

/* OP_RESOURCE. */
MUST_CHECK enum err_code resource_op_run(struct engine *e, struct op *op, struct err *err);

/* Shuts a gate for everybody, unless it is shut for longer already; `for_us` 0: an instant. */
struct gate_pause {
    int64_t until_at;
    int64_t for_us;
    struct slice why;
};
/* The row of a gate is locked: the gate in memory, if it is there, gets its state. */
MUST_CHECK enum err_code gate_lock(struct engine *e, int64_t id, struct stored_gate *ret,
                                   struct err *err);
MUST_CHECK enum err_code gate_pause(struct engine *e, int64_t id, const struct gate_pause *pause,
                                    struct err *err);
