/*
 * Staged jobs at their release: filters judge them then, by the params in the store.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/filters/filters.h"
#include "engine/followups/route.h"
#include "engine/state.h"
#include "store/jobs/emits.h"

static struct filter_job staged_job(struct engine *e, const struct job *j)
{
    struct slice params = j->params;

    if (j->step > 0)
        params = route_sees(e, j, params);
    return (struct filter_job){
        .queue = queue_by_id(e, j->queue), .params = params, .group = j->group, .id = j->id.v};
}

enum err_code filters_look_at_staged(struct engine *e, struct job *jobs, size_t n,
                                     struct arena *arena, struct err *err)
{
    struct job **judged;
    size_t n_judged = 0;

    if (e->queues.filtered == 0)
        return E_OK;
    judged = arena_array(arena, n, sizeof(*judged));
    for (size_t i = 0; i < n; i++)
        if (queue_has_filters(queue_by_id(e, jobs[i].queue)))
            judged[n_judged++] = &jobs[i];
    if (n_judged == 0)
        return E_OK;
    if (store_staged_params(e->store, judged, n_judged, arena, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n_judged; i++) {
        struct filter_job j = staged_job(e, judged[i]);

        filters_want(e, &j);
    }
    filters_begin(e);
    return filters_look(e, err);
}

const struct filter_ruling *filters_judge_staged(struct engine *e, const struct job *job,
                                                 struct arena *arena)
{
    if (e->queues.filtered == 0 || !queue_has_filters(queue_by_id(e, job->queue)))
        return NULL;
    struct filter_ruling *r = arena_alloc(arena, sizeof(*r));
    struct filter_job j = staged_job(e, job);

    filters_judge(e, &j, r);
    if (r->verdict == VERDICT_REFUSE) { /* nobody is there to be refused */
        r->verdict = VERDICT_DROP;
        if (r->drop.text.size == 0)
            r->drop.text = arena_copy(&e->batch.arena, slice_of(r->refused.msg));
    }
    return r->verdict == VERDICT_KEEP && !r->held ? NULL : r;
}
