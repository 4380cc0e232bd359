/*
 * Publications: create a job for each target, over several commits if needed.  Also what is known
 * of all unfinished fan-outs.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "store/links/fanout.h"

struct engine;
struct queue;

/* Creates the jobs of a publication, whose targets have their ids, up to the size of this commit.
 * The rest is stored as a row of `spreads` for the next commits.  *ret_lost: another server has
 * just published under the same key; nothing was created. */
MUST_CHECK enum err_code spread_make(struct engine *e, struct stored_spread *spread, bool *ret_lost,
                                     struct err *err);

/* Continues an unfinished publication of earlier commits; *ret_over: there is none. */
MUST_CHECK enum err_code spread_work(struct engine *e, bool *ret_over, struct err *err);

/* The unfinished publication under the key; ret->id 0: there is none. */
MUST_CHECK enum err_code spread_of_key(struct engine *e, struct slice key,
                                       struct stored_spread *ret, struct err *err);

/* Counts the jobs that unfinished publications will still create in the queue. */
MUST_CHECK enum err_code spread_count(struct engine *e, const struct queue *q, int64_t *ret_n,
                                      struct err *err);

/* ---- fan-outs of all kinds ---- */

/* Notes that a fan-out is stored under that id for the next batches. */
void fanout_put_off(struct engine *e, int64_t id);

/* Whether the store may have unfinished fan-outs, including damaged ones.  Embedded: memory
 * knows. */
bool fanouts_may_exist(const struct engine *e);

/* Whether the row with that id is left to later batches; also true for 0, no row. */
bool fanout_is_for_later(const struct engine *e, int64_t id);

/* Another server has locked a job of a fan-out: fan-outs continue a little later. */
void fanouts_pause(struct engine *e);

/* Whether the commit has reached its size. */
bool fanout_is_used_up(struct engine *e);

/* After the commit: adapts the share of unfinished fan-outs in the next batches to its duration. */
void fanout_learn(struct engine *e);
