/*
 * Publications: a job for each target, in as many commits as it takes; and what is known of
 * fan-outs that earlier commits have left.
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

/* Makes the jobs of a publication whose targets have their ids: as many as belong into this commit.
 * The others are a durable row of `spreads`, for the next ones.  *ret_lost: another server has
 * published under the same key at this moment; nothing is made. */
MUST_CHECK enum err_code spread_make(struct engine *e, struct stored_spread *spread, bool *ret_lost,
                                     struct err *err);

/* Continues a publication that earlier commits have left; *ret_over: there is none. */
MUST_CHECK enum err_code spread_work(struct engine *e, bool *ret_over, struct err *err);

/* The unfinished publication under the key; ret->id 0: there is none. */
MUST_CHECK enum err_code spread_of_key(struct engine *e, struct slice key,
                                       struct stored_spread *ret, struct err *err);

/* Jobs that are still to be made in the queue. */
MUST_CHECK enum err_code spread_count(struct engine *e, const struct queue *q, int64_t *ret_n,
                                      struct err *err);

/* ---- fan-outs of all kinds ---- */

/* Something is put off under that id, for the next batches. */
void fanout_put_off(struct engine *e, int64_t id);

/* Whether the store may have any, damaged ones included.  Embedded: memory knows. */
bool fanouts_may_exist(const struct engine *e);

/* Whether the row with that id is not for this batch; 0, for no row, neither. */
bool fanout_is_for_later(const struct engine *e, int64_t id);

/* Another server has locked something of one: they continue a little later. */
void fanouts_pause(struct engine *e);

/* Whether the commit has made what it may. */
bool fanout_is_used_up(struct engine *e);

/* The batch is on disk: how long it took counts for what the next ones work off. */
void fanout_learn(struct engine *e);
