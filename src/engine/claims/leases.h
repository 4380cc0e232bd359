/*
 * Leases last their full period from the moment when the reply that grants or extends them can be
 * sent.
 *
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "engine/op.h"

struct engine;
struct live_claim;
struct stored_claim;

#define LEASE_MARGIN_MAX_US LEASE_MIN_US /* maximum of leases.margin_us */

struct leases {
    int64_t margin_us;  /* added to every stored deadline: see leases.c */
    int64_t overrun_us; /* added to the deadlines that this batch replies with */
};

/* Reads the key that signs leases from the store, or creates it. */
MUST_CHECK enum err_code leases_load(struct engine *e, struct err *err);

/* Adopts a claim from the store: its leases get a full period before they are checked.  `ctx` is
 * the engine. */
void lease_take_claim(void *ctx, const struct stored_claim *c);

/* The length of a claim's leases, whichever server granted it. */
MUST_CHECK enum err_code lease_length(const struct engine *e, int64_t token, int64_t *ret_us,
                                      struct err *err);

/* The deadline, as stored, of a lease that the batch grants or extends. */
int64_t lease_until_at(const struct engine *e, int64_t lease_us);

/* When a lease of the claim with the stored deadline `stored_at` really ends. */
int64_t lease_ends_at(const struct live_claim *claim, int64_t stored_at);

/* After the commit: extends the batch's leases by the time that the batch took. */
void leases_extend(struct engine *e);
