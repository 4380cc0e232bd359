/*
 * What workers say: claim, finish and touch, alone or in one request.
 *
 * As with submit.h the text is checked once and walked in place; slices point into it or into the
 * arena.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "engine/op.h"
#include "server/parse/submit.h"

enum exchange_kind { EXCHANGE_CLAIM, EXCHANGE_FINISH, EXCHANGE_TOUCH };

/* `source` says what the sender may, for the jobs that finishes emit, and how leases are proven.
 * Who sends a lease that is none of its job gets LEASE_FORGED for its token. E_BAD_REQUEST when it
 * is no JSON; E_INVALID, E_TOO_LARGE otherwise, with `item` for a finish or touch. */
MUST_CHECK enum err_code parse_exchange(struct slice text, enum exchange_kind kind,
                                        const struct submit_source *source, struct arena *arena,
                                        struct exchange *ret_exchange, struct err *err);

extern const struct object claim_object;
extern const struct object finishes_object; /* requests that are only finishes, or only touches */
extern const struct object touches_object;
extern const struct object worker_object;
