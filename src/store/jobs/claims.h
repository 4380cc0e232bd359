/*
 * Claims: one row for each claim request, with the jobs it got, so that a restart finds what runs.
 *
 * A row names at least the jobs that still run under its token; it may be removed when none does.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/jobs/jobs.h"

struct store;

MUST_CHECK enum err_code store_claim_add(struct store *s, const struct store_claim *claim,
                                         const int64_t *jobs, size_t n, struct err *err);
MUST_CHECK enum err_code store_claim_remove(struct store *s, int64_t token, struct err *err);

struct stored_claim {
    int64_t token;
    int64_t worker;
    int64_t lease_us;
    const int64_t *jobs; /* valid during the callback */
    size_t n_jobs;
};

typedef void store_claim_fn(void *ctx, const struct stored_claim *claim);

MUST_CHECK enum err_code store_claims_load(struct store *s, store_claim_fn *on_claim, void *ctx,
                                           struct err *err);

/* Only those of one server, or of one worker. */
MUST_CHECK enum err_code store_claims_of_node(struct store *s, uint32_t node,
                                              store_claim_fn *on_claim, void *ctx, struct err *err);
MUST_CHECK enum err_code store_claims_of_worker(struct store *s, int64_t worker,
                                                store_claim_fn *on_claim, void *ctx,
                                                struct err *err);

/* The length of its leases; *ret_us is unchanged when there is no such claim. */
MUST_CHECK enum err_code store_claim_lease(struct store *s, int64_t token, int64_t *ret_us,
                                           struct err *err);
