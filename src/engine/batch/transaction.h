/*
 * The batch's transaction: begun before the first write, committed once; and what every use case
 * works with in it.
 *
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/clock.h"
#include "base/err.h"

struct arena;
struct engine;
struct store;

struct store *batch_store(const struct engine *e);

/* Memory that lives until the answers of the batch are sent. */
struct arena *batch_arena(struct engine *e);

/* Both clocks when the batch began. */
struct now batch_now(const struct engine *e);

/* Begins the transaction unless it has begun.  Every use case calls it before its first write. */
MUST_CHECK enum err_code engine_write(struct engine *e, struct err *err);

/* Writes what the batch has gathered (endings, joins, counts, the mark of ids) and commits. */
MUST_CHECK enum err_code engine_commit(struct engine *e, struct err *err);
