/*
 * A worker's name that several processes want: two with an instance each, and claimers without one.
 *
 * The name is its holder's while that is heard of, for its lease; on a shared store a little
 * longer, because another server may have heard of it.  It is free after a goodbye.  Whoever names
 * the holder as the one before it, on the same machine, comes at once.  Nothing of a refused
 * request happens.
 */
/* SPDX-License-Identifier: MIT */
#include "sim.h"

static const char *const instances[MODEL_INSTANCES] = {"four", "five", ""};

#define LEASE_US (20 * US_PER_S)
#define SHARED_US (4 * US_PER_S) /* on a shared store longer by this */

void name_init(struct sim *s)
{
    s->model.name.holder = MODEL_NOBODY;
}

static bool is_free(const struct model_name *n)
{
    return n->holder == MODEL_NOBODY;
}

/* Which of two in one batch comes first is open. */
static bool is_in_batch(const struct sim *s)
{
    for (size_t i = 0; i < s->n_batch; i++)
        if (s->batch[i]->op.kind == OP_EXCHANGE && s->batch[i]->worker == MODEL_CONTESTED)
            return true;
    return false;
}

int name_worker(struct sim *s)
{
    int worker = (int)chance(s, MODEL_WORKERS);

    return worker == MODEL_CONTESTED && is_in_batch(s) ? 0 : worker;
}

/* Instances that nobody has heard of, and mostly the holder among them. */
static void name_previous(struct sim *s, struct req *r)
{
    struct worker_info *info = &r->op.exchange.worker;

    info->previous = r->previous;
    info->n_previous = 1 + chance(s, SIM_PREVIOUS);
    for (size_t i = 0; i < info->n_previous; i++)
        r->previous[i] = SLICE("unheard");
    r->succeeds = chance(s, 4) > 0;
    if (r->succeeds)
        r->previous[chance(s, info->n_previous)] = slice_of(instances[s->model.name.holder]);
}

/* When the process dies in the batch, whether somebody has come or gone leaves no trace in the
 * jobs. */
void name_fill(struct sim *s, struct req *r)
{
    const struct model_name *n = &s->model.name;
    struct exchange *x = &r->op.exchange;
    bool in_peace = !s->crashing && !s->faulty;

    r->instance = is_free(n) ? MODEL_INSTANCES - 1 : n->holder;
    if (in_peace && chance(s, 2) == 0)
        r->instance = (int)chance(s, MODEL_INSTANCES);
    x->worker.instance = slice_of(instances[r->instance]);
    x->lease_us = LEASE_US;
    x->wait_us = 0;
    if (x->worker.instance.size == 0)
        return;
    x->worker.boot = SLICE("boot");
    x->worker.leaves = in_peace && chance(s, 6) == 0;
    if (in_peace && !is_free(n) && n->holder != r->instance && chance(s, 3) == 0)
        name_previous(s, r);
}

static bool wants_name(const struct req *r)
{
    return r->worker == MODEL_CONTESTED && r->op.exchange.parts & EXCHANGE_JOBS;
}

static bool is_others(const struct model_name *n, const struct req *r)
{
    return !is_free(n) && n->holder != r->instance;
}

enum err_code name_judge(struct sim *s, const struct req *r)
{
    struct model_name *n = &s->model.name;

    /* A pause, and its own start, are known to one server alone. */
    int64_t until_at = n->until_at > s->at->names_until_at ? n->until_at : s->at->names_until_at;

    if (!wants_name(r) || !is_others(n, r) || r->succeeds || until_at <= s->now.steady_at)
        return E_OK;
    n->refused++;
    return E_CONFLICT;
}

void name_take(struct sim *s, struct req *r)
{
    const struct worker_info *info = &r->op.exchange.worker;
    struct model_name *n = &s->model.name;
    bool has_instance = info->instance.size > 0;

    if (!wants_name(r))
        return;
    n->succeeded += is_others(n, r) && r->succeeds;
    n->expired += is_others(n, r) && !r->succeeds;
    n->left += info->leaves;
    r->strips_none = !is_free(n) && !has_instance;
    n->holder = has_instance && !info->leaves ? r->instance : MODEL_NOBODY;
    n->until_at = s->now.steady_at + LEASE_US + (s->shared ? SHARED_US : 0);
}

void name_renew(struct sim *s)
{
    int64_t until_at = s->now.steady_at + LEASE_US;

    if (s->shared)
        s->at->names_until_at = until_at;
    else if (s->model.name.until_at < until_at)
        s->model.name.until_at = until_at;
}
