/*
 * Claim: grants ready jobs to workers in the order of their requests.
 *
 * Within the batch's transaction, except where a comment says otherwise.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "engine/op.h"

struct engine;

/* Whether the claim was made with old definitions: it is granted nothing. */
bool claim_is_outdated(const struct engine *e, const struct exchange *x);

/* False: the exchange is refused as a whole, with op->err. */
bool exchange_is_sound(struct engine *e, struct op *op);

/* Grants ready jobs, first to waiting claims, then to those of the batch. */
MUST_CHECK enum err_code claims_grant(struct engine *e, struct err *err);

/* The batch has failed: takes its grants back from waiting claims. */
void claims_ungrant(struct engine *e);

/* Returns jobs to their queues that the worker was granted but does not list as held. */
MUST_CHECK enum err_code claim_return_unknown(struct engine *e, struct op *op, struct err *err);

/* After the commit: writes the granted jobs into the reply. */
void claim_write(struct engine *e, struct op *op);

/* Takes the jobs that the claim gets out of the ready lists, at most as many as it asks for.
 * (pick.c) */
MUST_CHECK enum err_code pick(struct engine *e, const struct op *op, int64_t *ids, size_t *ret_n,
                              struct err *err);
