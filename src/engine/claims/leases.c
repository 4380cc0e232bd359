/*
 * Leases last their full period from the moment when the reply that grants or extends them can be
 * sent.
 *
 * Stored deadlines count from the beginning of the batch.  Round trips to a database or a slow disk
 * may delay the commit and the reply: the leases of the batch end later by that time.  The server
 * that granted a lease also checks it, so it keeps this extra time in memory, with the claim.  But
 * a lease may be extended through another server, which cannot tell the one that checks it: on a
 * shared store a margin is added to stored deadlines, the time that recent batches took if that was
 * long, and only time beyond the margin is kept in memory.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/claims/leases.h"

#include "engine/batch/transaction.h"
#include "engine/state.h"
#include "store/jobs/claims.h"
#include "store/meta.h"

#define USUAL_US (50 * US_PER_MS) /* normal duration of a batch: needs no margin */

static const char *const key_names[] = {"lease_key_0", "lease_key_1"};

static enum err_code load_part(struct engine *e, size_t i, struct err *err)
{
    int64_t own = (int64_t)e->lease_key.v[i];
    int64_t stored = 0;

    if (store_meta_get(e->store, key_names[i], &stored, err) != E_OK)
        return err->code;
    if (own == 0 && stored != 0)
        e->lease_key.v[i] = (uint64_t)stored;
    else if (own == 0)
        e->lease_key.v[i] = e->config.lease_key.v[i] != 0 ? e->config.lease_key.v[i] : 1;
    if (stored == (int64_t)e->lease_key.v[i])
        return E_OK;
    return engine_write(e, err) != E_OK
               ? err->code
               : store_meta_set(e->store, key_names[i], (int64_t)e->lease_key.v[i], err);
}

/* A key in memory wins over the stored one, even if the database was replaced: workers hold leases
 * that were signed with it. */
enum err_code leases_load(struct engine *e, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(key_names); i++)
        if (load_part(e, i, err) != E_OK)
            return err->code;
    return E_OK;
}

void lease_take_claim(void *ctx, const struct stored_claim *c)
{
    struct engine *e = ctx;

    if (claims_find(&e->claims, c->token) !=
        NULL) /* known already, or duplicate in a damaged store */
        return;
    struct live_claim *claim = claim_new(c->token, c->jobs, c->n_jobs);

    claim->worker = c->worker;
    claim->lease_us = c->lease_us;
    claim->found_at = engine_lease_at(e);
    claim->check_at = claim->found_at + c->lease_us;
    claims_add(&e->claims, claim);
}

enum err_code lease_length(const struct engine *e, int64_t token, int64_t *ret_us, struct err *err)
{
    const struct live_claim *claim = claims_find(&e->claims, token);

    *ret_us = claim == NULL ? LEASE_DEFAULT_US : claim->lease_us;
    return claim == NULL && must_ask_store(e) ? store_claim_lease(e->store, token, ret_us, err)
                                              : E_OK;
}

int64_t lease_until_at(const struct engine *e, int64_t lease_us)
{
    return engine_lease_at(e) + lease_us + e->leases.margin_us;
}

/* The margin is the longest recent duration of a batch; it shrinks by an eighth with each batch. */
static void learn(struct engine *e, int64_t took_us)
{
    int64_t margin_us = e->leases.margin_us - e->leases.margin_us / 8;

    if (took_us > margin_us)
        margin_us = took_us;
    if (margin_us <= USUAL_US)
        margin_us = 0;
    e->leases.margin_us = margin_us > LEASE_MARGIN_MAX_US ? LEASE_MARGIN_MAX_US : margin_us;
}

int64_t lease_ends_at(const struct live_claim *claim, int64_t stored_at)
{
    return stored_at + (stored_at <= claim->extra_upto_at ? claim->extra_us : claim->next_extra_us);
}

/* The claim's leases of this batch end `extra_us` later than stored.  The extra time of an earlier
 * batch applies to the deadlines which that batch stored, until all such leases have ended or were
 * extended. */
static void add_extra(const struct engine *e, struct live_claim *claim, int64_t extra_us)
{
    int64_t for_at = lease_until_at(e, claim->lease_us);

    if (claim->extra_upto_at + claim->extra_us <= engine_lease_at(e)) {
        claim->extra_us = claim->next_extra_us;
        claim->extra_upto_at = claim->next_upto_at;
        claim->next_extra_us = 0;
    }
    if (extra_us >= claim->extra_us) {
        claim->extra_us = extra_us;
        claim->extra_upto_at = for_at > claim->extra_upto_at ? for_at : claim->extra_upto_at;
        claim->next_extra_us = 0;
    } else if (extra_us > claim->next_extra_us) {
        claim->next_extra_us = extra_us;
    }
    claim->next_upto_at = for_at > claim->extra_upto_at ? for_at : claim->extra_upto_at;
}

void leases_extend(struct engine *e)
{
    int64_t took_us = engine_clock(e).steady_at - e->clocks.caller.steady_at;
    int64_t overrun_us = took_us > e->leases.margin_us ? took_us - e->leases.margin_us : 0;

    for (size_t i = 0; i < e->batch.new_claims.count; i++) {
        add_extra(e, e->batch.new_claims.items[i], overrun_us);
        e->batch.new_claims.items[i]->check_at += overrun_us;
    }
    for (size_t i = 0; i < e->batch.extended_claims.count; i++) {
        struct live_claim *claim = claims_find(&e->claims, e->batch.extended_claims.items[i]);

        if (claim != NULL)
            add_extra(e, claim, overrun_us);
    }
    e->leases.overrun_us = overrun_us > USUAL_US ? overrun_us : 0;
    if (must_tell_store(e))
        learn(e, took_us);
}
