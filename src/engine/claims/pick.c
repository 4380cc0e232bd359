/*
 * pick(): the only place that decides which jobs a claim gets: across the queues it names, the
 * highest priority first, then the oldest.
 *
 * A claimer that runs programs (`commands`) gets no job without a command: if neither the job nor
 * its queue has one, the job is left to other claimers.  These jobs are detected when they are
 * picked, and remembered.
 */
/* SPDX-License-Identifier: MIT */
#include <limits.h>

#include "engine/batch/transaction.h"
#include "engine/claims/claim.h"
#include "engine/claims/ready.h"
#include "engine/clock/clock.h"
#include "engine/clock/expire.h"
#include "engine/gates/gating.h"
#include "engine/queues/queue.h"
#include "engine/shared/shared.h"
#include "store/jobs/ready.h"

enum { COMMANDLESS_MAX = 2 * READY_MAX };

struct picker {
    struct engine *e;
    struct arena *arena;
    const struct exchange *x;
    struct queue **queues;
    int *left;           /* by queue: jobs that may still be picked */
    size_t *passed;      /* by queue: ready jobs without a command that were skipped */
    struct queue **from; /* by picked job: its queue */
    struct line *line;   /* of the best job, in a queue with gates */
    struct err *err;     /* of the store, while the best job is looked for */
    bool failed;         /* … it is set */
};

/* Whether the claimer can run jobs of the queue only if they have their own command. */
static bool is_bare(const struct picker *p, const struct queue *q)
{
    return p->x->commands && q->def.own_command && q->def.command.size == 0;
}

static const struct ready_ref *first_of(const struct picker *p, size_t i)
{
    const struct queue *q = p->queues[i];
    const struct ready_ref *ref = ready_at(&q->ready, p->passed[i]);

    while (ref != NULL && is_bare(p, q) && map_find(&q->commandless, ref->id) != NULL)
        ref = ready_at(&q->ready, ++p->passed[i]);
    return ref;
}

static bool is_commandless(const struct queue *q, int64_t job)
{
    return map_find(&q->commandless, job) != NULL;
}

/* The first job of a queue with gates that may start. */
static bool first_open(struct picker *p, struct queue *q, struct line **ret_line,
                       struct ready_ref *ret_ref)
{
    gating_skip_fn *skips = is_bare(p, q) ? is_commandless : NULL;

    p->failed = gating_best(p->e, q, skips, ret_line, ret_ref, p->err) != E_OK;
    return !p->failed && *ret_line != NULL;
}

/* Finds the queue with the best first job.  False when there is none, or when an incomplete list is
 * empty: its next job, which only the store knows, might come before those of other queues. */
static bool best_queue(struct picker *p, size_t *ret_i, struct ready_ref *ret_ref)
{
    struct ready_ref best = {.priority = INT_MIN, .id = 0};
    bool found = false;

    for (size_t i = 0; i < p->x->n_queues; i++) {
        struct queue *q = p->queues[i];
        struct line *line = NULL;
        struct ready_ref open;

        if (p->left[i] <= 0 || !queue_starts(q))
            continue;
        bool gated = q->gating != NULL;
        const struct ready_ref *first = !gated                           ? first_of(p, i)
                                        : first_open(p, q, &line, &open) ? &open
                                                                         : NULL;

        if (first == NULL && (p->failed || (!gated && !q->ready.complete && p->passed[i] == 0)))
            return false;
        if (first == NULL || (found && !ready_comes_before(*first, best)))
            continue;
        best = *first;
        p->line = line;
        *ret_i = i;
        found = true;
    }
    *ret_ref = best;
    return found;
}

/* Appends jobs to refs[0..n) and returns the new count.  It may find fewer jobs than there are, but
 * at least one if there is any. */
static size_t take_best(struct picker *p, struct ready_ref *refs, size_t n)
{
    size_t i = 0;

    while (n < (size_t)p->x->max && best_queue(p, &i, &refs[n])) {
        struct queue *q = p->queues[i];

        if (q->gating != NULL)
            gating_take(p->e, q, p->line, refs[n]);
        else if (p->passed[i] == 0)
            ready_take(&q->ready);
        else
            ready_remove(&q->ready, refs[n]);
        p->from[n++] = q;
        p->left[i]--;
    }
    return n;
}

/* Undoes what take_best did with the job. */
static void give_back(struct picker *p, struct queue *q, struct ready_ref ref)
{
    if (q->gating != NULL)
        gating_put_back(p->e, q, ref);
    else
        ready_put_back(&q->ready, ref);
    for (size_t i = 0; i < p->x->n_queues; i++)
        if (p->queues[i] == q)
            p->left[i]++;
}

static void leave_commandless(struct picker *p, struct queue *q, struct ready_ref ref)
{
    if (ref.id <= 0) /* the store is damaged */
        return;
    if (q->commandless.count >= COMMANDLESS_MAX) {
        map_deinit(&q->commandless);
        q->commandless = (struct map){0};
    }
    map_put(&q->commandless, ref.id, q);
    give_back(p, q, ref);
}

/* Puts jobs from refs[first] on back that have no command. */
static enum err_code keep_runnable(struct picker *p, struct ready_ref *refs, size_t first,
                                   size_t *n, struct err *err)
{
    int64_t *ids = arena_array(p->arena, *n, sizeof(*ids));
    bool *has = arena_array(p->arena, *n, sizeof(*has));
    size_t n_bare = 0;
    size_t kept = first;

    for (size_t i = first; i < *n; i++)
        if (is_bare(p, p->from[i]))
            ids[n_bare++] = refs[i].id;
    if (n_bare == 0)
        return E_OK;
    if (store_jobs_with_command(batch_store(p->e), ids, n_bare, has, p->arena, err) != E_OK)
        return err->code;
    for (size_t i = first, bare = 0; i < *n; i++) {
        if (is_bare(p, p->from[i]) && !has[bare++]) {
            leave_commandless(p, p->from[i], refs[i]);
            continue;
        }
        p->from[kept] = p->from[i];
        refs[kept++] = refs[i];
    }
    *n = kept;
    return E_OK;
}

/* Passes over jobs from refs[first] on that were to have started by now: the sweep ends them, in a
 * batch that can follow their ends. */
static enum err_code drop_expired(struct picker *p, struct ready_ref *refs, size_t first, size_t *n,
                                  struct err *err)
{
    int64_t *ids = arena_array(p->arena, *n + 1, sizeof(*ids));
    bool *gone = arena_array(p->arena, *n + 1, sizeof(*gone));
    size_t kept = first;

    for (size_t i = first; i < *n; i++)
        ids[i - first] = refs[i].id;
    if (expire_find(p->e, ids, *n - first, gone, err) != E_OK)
        return err->code;
    for (size_t i = first; i < *n; i++) {
        if (!gone[i - first]) {
            p->from[kept] = p->from[i];
            refs[kept++] = refs[i];
            continue;
        }
        give_back(p, p->from[i], refs[i]);
        if (expire_hide(p->e, p->from[i], refs[i].id, err) != E_OK)
            return err->code;
    }
    *n = kept;
    return E_OK;
}

static void init(struct picker *p, const struct op *op)
{
    size_t n = p->x->n_queues;

    p->queues = op->queues;
    p->left = arena_array(p->arena, n, sizeof(*p->left));
    p->passed = arena_array(p->arena, n, sizeof(*p->passed));
    p->from = arena_array(p->arena, (size_t)p->x->max, sizeof(*p->from));
    for (size_t i = 0; i < n; i++)
        p->left[i] = p->x->queues[i].max;
}

enum err_code pick(struct engine *e, const struct op *op, int64_t *ids, size_t *ret_n,
                   struct err *err)
{
    struct picker p = {.e = e, .arena = batch_arena(e), .x = &op->exchange, .err = err};
    struct ready_ref *refs = arena_array(p.arena, (size_t)p.x->max, sizeof(*refs));
    size_t picked = 0;
    size_t first = 0;
    size_t n = 0;

    init(&p, op);
    /* Lists are filled before jobs are taken: until the claim is written, picked jobs are still
     * ready in the store and would be listed again. */
    for (size_t i = 0; i < p.x->n_queues; i++) {
        if (p.left[i] <= 0 || !queue_starts(p.queues[i]))
            continue;
        if ((gating_of(e, p.queues[i]) != NULL
                 ? gating_begin(e, p.queues[i], err)
                 : shared_fill_ready(e, p.queues[i], !is_bare(&p, p.queues[i]), err)) != E_OK)
            return err->code;
    }
    do {
        first = n;
        picked = n = take_best(&p, refs, first);
        if (p.failed)
            return err->code;
        if (p.x->commands && keep_runnable(&p, refs, first, &n, err) != E_OK)
            return err->code;
        if (clock_is_behind(e) && drop_expired(&p, refs, first, &n, err) != E_OK)
            return err->code;
    } while (n < picked);
    for (size_t i = 0; i < n; i++)
        ids[i] = refs[i].id;
    *ret_n = n;
    return E_OK;
}
