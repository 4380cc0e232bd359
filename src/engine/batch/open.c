/*
 * Opening and closing the engine: what memory holds is read from the store, and freed.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "engine/claims/exchange.h"
#include "engine/gates/gating.h"
#include "engine/state.h"
#include "store/jobs/claims.h"
#include "store/jobs/jobs.h"
#include "store/jobs/ready.h"
#include "store/meta.h"

enum { RENEW_ROWS = 1000 };

static enum err_code renew_claim(struct engine *e, const struct live_claim *claim, struct err *err)
{
    const struct touch_status silent = {.has_text = false};
    enum touch_result result;

    for (size_t i = 0; i < claim->n_jobs; i++)
        if (store_job_touch(e->store, claim->jobs[i], claim->token, claim->check_at, &silent,
                            &result, err) != E_OK &&
            !err->bad_row) /* only that job cannot be renewed, or judged */
            return err->code;
    *err = ERR_INIT;
    return E_OK;
}

/* Deadlines in the store were set by the clock of an earlier process: replaces them by ours. */
static enum err_code renew_leases(struct engine *e, struct err *err)
{
    size_t rows = 0;

    for (size_t i = 0; i < e->claims.heap.count; i++) {
        if ((rows == 0 && store_begin(e->store, err) != E_OK) ||
            renew_claim(e, e->claims.heap.items[i], err) != E_OK)
            return err->code;
        rows += e->claims.heap.items[i]->n_jobs;
        if (rows < RENEW_ROWS && i + 1 < e->claims.heap.count)
            continue;
        if (store_commit(e->store, err) != E_OK)
            return err->code;
        rows = 0;
    }
    return E_OK;
}

/* Adds what a new store lacks. */
static enum err_code add_default(struct engine *e, struct err *err)
{
    enum err_code code = leases_load(e, err);

    if (code == E_OK)
        code = queue_add_default(e, err);
    if (code == E_OK && e->batch.in_transaction)
        code = store_commit(e->store, err);
    if (code != E_OK)
        store_rollback(e->store);
    e->batch.in_transaction = e->batch.has_written = false;
    return code;
}

static enum err_code load(struct engine *e, struct err *err)
{
    int64_t floor = 0;

    if (store_meta_get(e->store, META_IDS, &floor, err) != E_OK ||
        ids_open(e, floor, floor, err) != E_OK || queues_load(e, err) != E_OK ||
        add_default(e, err) != E_OK || workers_load(e, err) != E_OK ||
        store_claims_load(e->store, lease_take_claim, e, err) != E_OK ||
        bulk_load(e, err) != E_OK || emitters_load(e, err) != E_OK ||
        followups_load(e, err) != E_OK)
        return err->code;
    /* The clock may have been set back while no server ran: no job waits longer than its delay. */
    if (store_begin(e->store, err) == E_OK &&
        store_due_bound(e->store, e->now.wall_at, err) == E_OK && groups_open(e, err) == E_OK &&
        store_commit(e->store, err) == E_OK && renew_leases(e, err) == E_OK)
        return E_OK;
    store_rollback(e->store);
    return err->code;
}

enum err_code engine_open(struct store *store, const struct engine_config *config, struct now now,
                          struct engine **ret_engine, struct err *err)
{
    struct engine *e = mem_zalloc(sizeof(*e));

    e->store = store;
    e->config = *config;
    e->followups.fanout_max = fanout_max(config->fanout.rows, config->fanout.bytes,
                                         config->fanout.rounds);
    e->batch.followups.fanout = e->followups.fanout_max;
    e->followups.fanout_pace = FANOUT_PARTS;
    e->node = config->node;
    e->now = e->clocks.caller = now;
    clock_reset(e);
    waiting_init(&e->waiting);
    gates_init(&e->gates);
    rng_init(&e->rng, config->seed);
    claims_init(&e->claims);
    e->missing_queue = queue_new_missing();
    if ((store_is_shared(store) ? shared_open(e, err) : load(e, err)) != E_OK) {
        engine_close(e);
        return err->code;
    }
    *ret_engine = e;
    return E_OK;
}

void engine_set_url(struct engine *e, const char *url)
{
    e->url = url;
}

void engine_close(struct engine *e)
{
    if (e == NULL)
        return;
    for (struct op *op = e->waiting.claims, *next; op != NULL; op = next) {
        next = op->next;
        exchange_close(e, op);
        answer(op);
    }
    for (struct op *op = e->desk.askers, *next; op != NULL; op = next) {
        next = op->next;
        op->n_granted = 0;
        desk_close(op);
        answer(op);
    }
    for (struct op *op = e->waiting.end_watchers, *next; op != NULL; op = next) {
        next = op->next;
        answer(op);
    }
    batch_clear(e);
    shared_close(e);
    bulk_free(e);
    emitters_free(e);
    workers_free(e);
    gating_drop_all(e);
    queues_free(e);
    queue_free(e->missing_queue);
    clock_deinit(e);
    skipped_deinit(&e->skipped);
    claims_deinit(&e->claims);
    cancels_free(e);
    desk_free(e);
    VEC_DEINIT(&e->asked);
    gates_deinit(e);
    batch_deinit(e);
    free(e);
}
