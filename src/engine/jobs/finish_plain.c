/*
 * Most finishes are plain: done, without data.  All plain finishes of a batch are written at once.
 *
 * The WHERE clauses of the statements decide: a job that does not run under its token, has a
 * `history` or is awaited is left to finish.c.  So is a job that has emitted anything.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/claims/claim.h"
#include "engine/claims/exchange.h"
#include "engine/queues/change.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"

/* The request that an item of the set came from. */
struct origin {
    int64_t id, token;
    bool *plain;
};

static bool is_plain(const struct finish_item *f)
{
    return f->outcome == JOB_OUT_DONE && f->cause == JOB_CAUSE_NONE && f->exit == 0 &&
           f->text.size == 0 && f->set.size == 0 && f->result.size == 0 && f->n_emit == 0 &&
           f->n_raises == 0 && f->n_uses == 0 && f->steps.size == 0 && f->group.size == 0;
}

static size_t count_plain(struct op **ops, size_t n)
{
    size_t plain = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; ops[i]->kind == OP_EXCHANGE && k < ops[i]->exchange.n_finish; k++)
            plain += is_plain(&ops[i]->exchange.finish[k]);
    return plain;
}

static size_t gather(struct engine *e, struct op **ops, size_t n, struct origin *origins)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        struct op *op = ops[i];

        if (op->kind != OP_EXCHANGE || op->exchange.n_finish == 0 || !exchange_is_sound(e, op))
            continue;
        bool *plain = arena_array(&e->batch.arena, op->exchange.n_finish, sizeof(bool));

        op->plain = plain;
        for (size_t k = 0; k < op->exchange.n_finish; k++) {
            const struct finish_item *f = &op->exchange.finish[k];

            if (is_plain(f) && !emit_owns(e, f->id))
                origins[count++] = (struct origin){f->id, f->token, &plain[k]};
        }
    }
    return count;
}

static int by_id(const void *a, const void *b)
{
    const struct origin *x = a;
    const struct origin *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* Sorts by id and removes ids that appear more than once: finish.c does these one by one. */
static size_t sort_set(struct origin *origins, size_t n)
{
    size_t kept = 0;
    bool sorted = true;

    for (size_t i = 1; i < n && sorted; i++)
        sorted = origins[i - 1].id < origins[i].id;
    if (sorted)
        return n;
    qsort(origins, n, sizeof(origins[0]), by_id);
    for (size_t i = 0; i < n; i++)
        if ((i == 0 || origins[i - 1].id != origins[i].id) &&
            (i + 1 == n || origins[i + 1].id != origins[i].id))
            origins[kept++] = origins[i];
    return kept;
}

static enum err_code note_done(struct engine *e, const struct done_item *item, struct err *err)
{
    struct queue *q = queue_by_id(e, item->queue);
    struct job j = {
        .id = {item->id},
        .queue = item->queue,
        .group = item->group,
        .lane = item->lane,
        .state = job_state_next(JOB_RUNNING, JOB_EV_DONE),
        .finished_at = e->now.wall_at,
    };

    effects_move(e, &j, JOB_RUNNING, q, "done");
    VEC_PUSH(&e->batch.ended_attempts, ((struct attempt_ref){item->id, item->token}));
    e->batch.tally.outcomes[JOB_OUT_DONE]++;
    return queue_count_streak(e, q, 0, err);
}

static struct done_item wanted_item(const struct engine *e, const struct origin *o)
{
    const struct live_claim *claim = claims_find(&e->claims, o->token);

    return (struct done_item){.id = o->id,
                              .token = o->token,
                              .queue = claim == NULL ? 0 : claim->queue};
}

enum err_code finish_plain(struct engine *e, struct err *err)
{
    struct op **ops = e->batch.ops;
    size_t n = e->batch.n_ops;
    size_t count = count_plain(ops, n);

    if (count == 0)
        return E_OK;
    struct origin *origins = arena_array(&e->batch.arena, count, sizeof(*origins));
    struct done_item *items = arena_array(&e->batch.arena, count, sizeof(*items));

    count = sort_set(origins, gather(e, ops, n, origins));
    for (size_t i = 0; i < count; i++)
        items[i] = wanted_item(e, &origins[i]);
    if (engine_write(e, err) != E_OK ||
        store_jobs_done(e->store, items, count, e->now.wall_at, &e->batch.arena, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < count; i++) {
        if (!items[i].hit)
            continue;
        *origins[i].plain = true;
        if (note_done(e, &items[i], err) != E_OK)
            return err->code;
    }
    return E_OK;
}
