/*
 * Claim: ready jobs are granted to those who ask, in the order they came.
 *
 * Within the batch's transaction, unless it says otherwise.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "engine/op.h"

struct engine;

/* Whether the claimer names other definitions than the current ones: it is granted nothing. */
bool claim_is_outdated(const struct engine *e, const struct exchange *x);

/* False: what the exchange asks for cannot be; the op is refused and nothing of it happens. */
bool exchange_is_sound(struct engine *e, struct op *op);

/* Grants what can be granted, first to claims that wait, then to those of the batch. */
MUST_CHECK enum err_code claims_grant(struct engine *e, struct err *err);

/* The batch failed: claims that wait were granted nothing. */
void claims_ungrant(struct engine *e);

/* Returns the jobs that the worker was granted and does not list among what it holds. */
MUST_CHECK enum err_code claim_return_unknown(struct engine *e, struct op *op, struct err *err);

/* After the commit: writes the jobs that were granted into the reply. */
void claim_write(struct engine *e, struct op *op);

/* pick.c: the jobs that the claim gets, at most as many as it asks for; taken out of the lists. */
MUST_CHECK enum err_code pick(struct engine *e, const struct op *op, int64_t *ids, size_t *ret_n,
                              struct err *err);
