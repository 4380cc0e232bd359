/*
 * Who may claim under a worker's name.
 *
 * A worker sends a random instance with each claim.  An instance is present until it reports that
 * it leaves, or was not heard of for the length of its leases.  Its successor on the same machine,
 * which knows its instance, is admitted at once: that machine lets no two workers use one
 * directory.  Workers without an instance may share a name with each other, never with an instance.
 *
 * On a shared store the row is the truth, and is written only over the instance that was judged.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/queues/instance.h"

#include <inttypes.h>

#include "engine/state.h"

void instance_found(const struct engine *e, struct known_worker *w)
{
    int64_t lease_us = w->row.lease_us;

    /* An embedded store has one server, which has just been started: live workers come back
     * to it. */
    w->alive_until_at = engine_lease_at(e) + lease_us;
    if (!must_ask_store(e))
        return;
    /* Another server may have heard of it later than its row says: by WORKER_LAG_BUSY_US of one
     * that holds jobs, and of one that waits by WORKER_LAG_US, which matters only where leases
     * are shorter. */
    w->alive_until_at = w->row.seen_at + (lease_us > WORKER_LAG_US ? lease_us : WORKER_LAG_US) +
                        WORKER_LAG_BUSY_US;
}

void instance_heard(struct engine *e, const struct exchange *x)
{
    struct known_worker *w = x->worker.instance.size == 0 ? NULL : worker_find(e, x->worker.name);

    if (w != NULL && slice_equal(w->row.instance, x->worker.instance))
        w->alive_until_at = engine_lease_at(e) + x->lease_us;
}

bool instance_says_all(const struct engine *e, const struct exchange *x)
{
    const struct known_worker *w = worker_find(e, x->worker.name);

    return x->worker.instance.size > 0 || w == NULL || w->row.instance.size == 0;
}

static bool is_of(const struct op *op, const struct known_worker *w)
{
    return slice_equal(op->exchange.worker.name, w->row.name) &&
           slice_equal(op->exchange.worker.instance, w->row.instance);
}

static bool is_present(const struct engine *e, const struct known_worker *w)
{
    for (struct op *op = e->waiting.claims; op != NULL; op = op->next)
        if (is_of(op, w) && (op->alive == NULL || op->alive(op)))
            return true;
    /* It could not be heard while this server was stopped or the store failed. */
    int64_t outage_at = clocks_outage_at(e, w->row.lease_us);

    return w->alive_until_at > engine_lease_at(e) ||
           (outage_at != 0 && outage_at + w->row.lease_us > engine_lease_at(e));
}

/* Whether it uses the directory of the instance in the row: that one must be dead, as only one
 * process of the machine can use the directory. */
static bool succeeds(const struct worker_info *info, const struct stored_worker *row)
{
    if (info->boot.size == 0 || !slice_equal(info->boot, row->boot) ||
        !slice_equal(info->host, row->host))
        return false;
    for (size_t i = 0; i < info->n_previous; i++)
        if (slice_equal(info->previous[i], row->instance))
            return true;
    return false;
}

static void refuse(struct op *op, const struct stored_worker *row)
{
    char since[TIME_TEXT_SIZE];

    err_set(&op->err, E_CONFLICT,
            "the name '%.*s' is taken: by a worker on host %.*s, pid %" PRId64 ", since %s; use "
            "another name, or stop that one",
            (int)row->name.size, row->name.data, (int)row->host.size, row->host.data, row->pid,
            time_format(row->since_at, since));
}

/* Decides by the row whether the claim is admitted; *ret_new: under an instance that the row does
 * not name. */
static enum err_code admit(struct engine *e, struct op *op, bool *ret_new, struct err *err)
{
    const struct worker_info *info = &op->exchange.worker;
    struct known_worker *w = worker_find(e, info->name);

    if (w == NULL && must_ask_store(e)) { /* news of it may still be on the way */
        if (worker_learn(e, info->name, err) != E_OK)
            return err->code;
        w = worker_find(e, info->name);
    }
    *ret_new = w == NULL;
    if (w == NULL || (!w->stale && slice_equal(w->row.instance, info->instance)))
        return E_OK;
    if ((w->stale || must_ask_store(e)) && worker_refresh(e, w, err) != E_OK)
        return err->code;
    if (slice_equal(w->row.instance, info->instance))
        return E_OK;
    *ret_new = true;
    if (w->row.instance.size == 0)
        return E_OK;
    if (!succeeds(info, &w->row) && is_present(e, w)) {
        refuse(op, &w->row);
        return E_OK;
    }
    /* Waiting claims of the previous instance get nothing. */
    for (struct op *other = e->waiting.claims; other != NULL; other = other->next)
        if (is_of(other, w))
            other->answer_now = e->waiting.answers_due = true;
    return E_OK;
}

static bool claims_jobs(const struct op *op)
{
    return op->kind == OP_EXCHANGE && op->exchange.parts & EXCHANGE_JOBS;
}

static bool are_rivals(const struct op *a, const struct op *b)
{
    const struct worker_info *x = &a->exchange.worker;
    const struct worker_info *y = &b->exchange.worker;

    return claims_jobs(b) && b->err.code == E_OK && slice_equal(x->name, y->name) &&
           !slice_equal(x->instance, y->instance);
}

/* The row knows earlier batches only.  A new instance gives way to one that came before it in this
 * batch, and to the holder of the name, unless it is its successor. */
static void give_way(struct engine *e, struct op **ops, size_t n, size_t i)
{
    const struct worker_info *info = &ops[i]->exchange.worker;
    const struct known_worker *w = worker_find(e, info->name);

    for (size_t k = 0; k < n && ops[i]->err.code == E_OK; k++) {
        const struct worker_info *other = &ops[k]->exchange.worker;

        if (k == i || !are_rivals(ops[i], ops[k]))
            continue;
        bool has_name = w != NULL && w->row.instance.size > 0 && is_of(ops[k], w);

        if (has_name ? !succeeds(info, &w->row) : k < i)
            refuse(ops[i], &(struct stored_worker){.name = other->name,
                                                   .host = other->host,
                                                   .pid = other->pid,
                                                   .since_at = e->now.wall_at});
    }
}

enum err_code instances_admit(struct engine *e, struct err *err)
{
    struct op **ops = e->batch.ops;
    size_t n = e->batch.n_ops;

    for (size_t i = 0; i < n; i++) {
        bool is_new = false;

        if (!claims_jobs(ops[i]) || ops[i]->exchange.worker.name.size == 0)
            continue;
        if (admit(e, ops[i], &is_new, err) != E_OK)
            return err->code;
        if (is_new)
            give_way(e, ops, n, i);
    }
    return E_OK;
}
