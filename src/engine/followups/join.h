/*
 * Joins: count arrivals by key, and follow their destinations when a key has enough of them.
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

/* Follows the rest of the destinations of a fired join, from spread->place on. */
MUST_CHECK enum err_code join_go_on(struct engine *e, struct stored_spread *spread,
                                    struct err *err);

/* Before the commit: writes how often joins have fired in this batch, in the order of their ids,
 * so that two servers cannot block each other. */
MUST_CHECK enum err_code joins_write(struct engine *e, struct err *err);
