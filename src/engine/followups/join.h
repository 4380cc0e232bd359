/*
 * Joins: meeting points that lead on once enough have arrived with the same key.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "engine/op.h"
#include "store/links/fanout.h"

struct chain_source;
struct engine;

MUST_CHECK enum err_code join_run(struct engine *e, struct op *op, struct err *err);
MUST_CHECK enum err_code join_arrive(struct engine *e, struct slice name,
                                     const struct chain_source *source, struct err *err);

/* Continues with the destinations of a join that has fired; those before spread->place are done. */
MUST_CHECK enum err_code join_go_on(struct engine *e, struct stored_spread *spread,
                                    struct err *err);

/* Before the commit: writes how often joins have fired in this batch, in the order of their ids. */
MUST_CHECK enum err_code joins_write(struct engine *e, struct err *err);
