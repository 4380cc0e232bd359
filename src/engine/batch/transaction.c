/* SPDX-License-Identifier: MIT */
#include "engine/batch/transaction.h"

#include "engine/batch/counts.h"
#include "engine/batch/retention.h"
#include "engine/followups/join.h"
#include "engine/state.h"
#include "store/jobs/claims.h"

struct store *batch_store(const struct engine *e)
{
    return e->store;
}

struct arena *batch_arena(struct engine *e)
{
    return &e->batch.arena;
}

struct now batch_now(const struct engine *e)
{
    return e->now;
}

void engine_set_sync(struct engine *e, bool (*may_sync_later)(void *ctx), void *ctx)
{
    e->sync.may_be_later = may_sync_later;
    e->sync.ctx = ctx;
}

enum err_code engine_write(struct engine *e, struct err *err)
{
    if (e->batch.has_written)
        return E_OK;
    if (!e->batch.in_transaction && shared_begin_write(e, err) != E_OK)
        return err->code;
    e->batch.has_written = true;
    for (size_t i = 0; i < e->claims.dead.count; i++)
        if (store_claim_remove(e->store, e->claims.dead.items[i], err) != E_OK)
            return err->code;
    return E_OK;
}

enum err_code engine_commit(struct engine *e, struct err *err)
{
    if (groups_settle(e, err) != E_OK)
        return err->code;
    int64_t mark = e->ids.mark;

    if (!e->batch.in_transaction)
        return E_OK;
    if (e->batch.has_written && (endings_write(e, err) != E_OK || joins_write(e, err) != E_OK ||
                                 filters_write(e, err) != E_OK ||
                                 counts_write(&e->batch.counts, e->store, e->node, err) != E_OK ||
                                 ids_write_mark(e, &mark, err) != E_OK))
        return err->code;
    bool early = e->sync.may_be_later != NULL && e->sync.may_be_later(e->sync.ctx);

    if ((early ? store_commit_early(e->store, err) : store_commit(e->store, err)) != E_OK)
        return err->code;
    e->batch.in_transaction = false;
    e->ids.mark = mark;
    if (e->batch.has_written)
        VEC_CLEAR(&e->claims.dead);
    e->batch.has_written = false;
    atomic_fetch_add(&e->stats.commits, 1);
    atomic_store(&e->stats.last_error_at, 0);
    return E_OK;
}
