/*
 * The batch's transaction: begun before the first write, committed once.
 *
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"

struct engine;

/* Begins the transaction unless it has begun.  Every use case calls it before its first write. */
MUST_CHECK enum err_code engine_write(struct engine *e, struct err *err);

/* Writes what the batch has gathered (endings, joins, counts, the mark of ids) and commits. */
MUST_CHECK enum err_code engine_commit(struct engine *e, struct err *err);
