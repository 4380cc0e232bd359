/*
 * Bulk actions: an action on all jobs that match a filter, kept as one row and done in chunks.
 *
 * Engine thread only; functions that take an `err` run within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/job/state.h"
#include "engine/op.h"
#include "store/work.h"

struct engine;

struct bulk_work {
    struct stored_work row;
    struct arena arena; /* of row.args and the filter */
    struct job_filter filter;
    struct slice queue; /* MOVE */
    bool alone;         /* RETRY */
};

struct bulk_list {
    struct bulk_work **items; /* the oldest first */
    size_t count, capacity;
    bool has_work;   /* shared stores: the store may have actions that memory does not */
    int64_t bulk_at; /* steady: the next chunk is done no earlier */
};

MUST_CHECK enum err_code bulk_load(struct engine *e, struct err *err);
void bulk_free(struct engine *e);

MUST_CHECK enum err_code bulk_run(struct engine *e, struct op *op, struct err *err);

/* Writes the row of a new bulk action. */
MUST_CHECK enum err_code bulk_begin(struct engine *e, const struct bulk *bulk, int64_t *ret_id,
                                    struct err *err);

/* Does one chunk of the oldest bulk action. */
MUST_CHECK enum err_code bulk_step(struct engine *e, struct err *err);

/* When the next chunk is due (steady); TIME_NEVER: there is no bulk action. */
int64_t bulk_due_at(const struct engine *e);
bool bulk_is_due(const struct engine *e);

/* ---- names of actions; any thread ---- */

const char *bulk_action_name(int kind);

/* Whether the action can change a job in that state. */
bool bulk_action_means(enum job_action_kind kind, enum job_state state);
