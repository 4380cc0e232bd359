/*
 * What a bulk action would do: how many jobs it selects, and a few of them.
 *
 * Counts row by row, as the action itself would, newest first.  A count that reaches the time limit
 * of a query is returned as far as it got.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "engine/jobs/bulk.h"
#include "engine/jobs/filter.h"
#include "engine/reads/internal.h"
#include "store/jobs/list.h"

enum { PLAN_ROWS = 1000, PLAN_EXAMPLES = 5 };

struct plan {
    const struct job_filter *filter;
    enum job_action_kind kind;
    int64_t queue;
    int64_t jobs;
    int64_t examples[PLAN_EXAMPLES]; /* of the stretch */
    size_t n_examples;
    int rows;
    int64_t lowest;
};

static void take_row(void *ctx, const struct job *j)
{
    struct plan *p = ctx;

    p->rows++;
    p->lowest = j->id.v;
    if (!bulk_action_means(p->kind, j->state) || !filter_matches(p->filter, p->queue, j))
        return;
    p->jobs++;
    if (p->n_examples < PLAN_EXAMPLES)
        p->examples[p->n_examples++] = j->id.v;
}

/* Counts a whole stretch; E_TOO_SLOW when the time is up. */
static enum err_code count(struct query_view *v, struct plan *p, enum store_stretch which,
                           struct err *err)
{
    const struct store_walk walk = {.which = which,
                                    .text = p->filter->text,
                                    .reads = filter_reads(p->filter),
                                    .limit = PLAN_ROWS,
                                    .on_job = take_row,
                                    .ctx = p};
    int64_t below = INT64_MAX;

    do {
        p->rows = 0;
        if (store_list_down(v->store, &walk, below, err) != E_OK)
            return err->code;
        below = p->lowest;
    } while (p->rows == PLAN_ROWS && below > p->filter->first_id);
    return E_OK;
}

/* Live jobs first: actions are mostly about those that run or wait. */
static enum err_code count_all(struct query_view *v, struct plan *p, struct err *err)
{
    const struct job_filter *f = p->filter;

    if (filter_wants_live(f) && count(v, p, STRETCH_LIVE, err) != E_OK)
        return err->code;
    if (!filter_wants_ended(f))
        return E_OK;
    return count(v, p, filter_wants_only_failed(f) ? STRETCH_FAILED : STRETCH_ENDED, err);
}

enum err_code query_plan(struct query_view *v, struct query *q, struct err *err)
{
    struct plan p = {.filter = &q->filter, .kind = q->action};
    struct err slow = ERR_INIT;
    int64_t target = 0;

    if (query_find_queue(v, q->filter.queue, &p.queue, err) != E_OK ||
        query_find_queue(v, q->name, &target, err) != E_OK)
        return err->code;
    if (count_all(v, &p, &slow) != E_OK && slow.code != E_TOO_SLOW)
        return err_set(err, slow.code, "%s", slow.msg);
    buf_add_char(&q->reply, '{');
    jtext_put_string(&q->reply, "action", slice_of(bulk_action_name(q->action)));
    jtext_put_bool(&q->reply, "dry_run", true);
    jtext_put_int(&q->reply, "jobs", p.jobs);
    jtext_put_bool(&q->reply, "more", slow.code != E_OK);
    jtext_add_key(&q->reply, "examples");
    buf_add_char(&q->reply, '[');
    for (size_t i = 0; slow.code == E_OK && i < p.n_examples; i++)
        if (query_add_listed(v, q, p.examples[i], err) != E_OK)
            return err->code;
    buf_add_str(&q->reply, "]}");
    return E_OK;
}
