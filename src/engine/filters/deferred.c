/*
 * Jobs that follow others: chains, joins and topics make them one by one; they are judged as a set.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "engine/batch/batch.h"
#include "engine/batch/transaction.h"
#include "engine/filters/filters.h"
#include "engine/jobs/submit.h"

void filters_defer(struct engine *e, const struct submit_item *item, const struct plan *plan)
{
    struct submit_item *own_item = arena_alloc(batch_arena(e), sizeof(*own_item));
    struct plan *own_plan = arena_alloc(batch_arena(e), sizeof(*own_plan));

    *own_item = *item;
    *own_plan = *plan;
    VEC_PUSH(&current_batch(e)->filters.deferred, ((struct deferred_job){own_item, own_plan}));
}

enum err_code filters_make_deferred(struct engine *e, struct err *err)
{
    struct filter_batch *b = &current_batch(e)->filters;
    size_t n = b->deferred.count;

    if (n == 0)
        return E_OK;
    struct deferred_job *jobs = arena_array(batch_arena(e), n, sizeof(*jobs));

    memcpy(jobs, b->deferred.items, n * sizeof(*jobs));
    VEC_CLEAR(&b->deferred); /* one that replaces another has the new jobs written */
    for (size_t i = 0; i < n; i++)
        submit_want_filters(e, jobs[i].item, jobs[i].plan);
    if (filters_look(e, err) != E_OK)
        return err->code;
    filters_begin(e);
    for (size_t i = 0; i < n; i++) {
        if (submit_make_unasked(e, jobs[i].item, jobs[i].plan, err) != E_OK)
            return err->code;
        filters_begin(e); /* it is counted now */
    }
    return E_OK;
}
