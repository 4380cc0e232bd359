/*
 * Cancels of running jobs: a worker is told when it asks for work, or touches the job.
 *
 * Nothing of it is a promise: the job itself knows that it is to stop, and every touch says so again.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "engine/engine_internal.h"
#include "engine/reads/job_json.h"

static void drop(struct engine *e, int64_t job)
{
    free(map_remove(&e->cancels, job));
}

bool cancels_tell(struct engine *e, struct op *op)
{
    int64_t worker = e->cancels.count == 0 ? 0 : worker_number(e, op->exchange.worker.name);
    VEC(int64_t) told = VEC_INIT;
    int64_t job;
    void *note;

    if (worker == 0)
        return false;
    for (size_t i = 0; map_next(&e->cancels, &i, &job, &note);)
        if (((struct cancel_note *)note)->worker == worker)
            VEC_PUSH(&told, job);
    bool any = told.count > 0;

    for (size_t i = 0; i < told.count; i++) {
        const struct cancel_note *n = map_find(&e->cancels, told.items[i]);
        char text[LEASE_TEXT_SIZE];

        json_add_lease(&op->cancels, n->lease.job, lease_format(&e->lease_key, &n->lease, text));
        drop(e, n->lease.job);
    }
    VEC_DEINIT(&told);
    return any;
}

bool cancels_can_tell(const struct engine *e, int64_t worker)
{
    for (const struct op *op = e->waiting; op != NULL; op = op->next)
        if (worker_number(e, op->exchange.worker.name) == worker)
            return true;
    return false;
}

static void keep(struct engine *e, const struct cancel_note *asked)
{
    if (asked->worker == 0)
        return; /* it has no name to be known by: a touch tells it */
    if (e->shared && !cancels_can_tell(e, asked->worker))
        return; /* it may never come here: a touch tells it, or the server it waits at */
    struct cancel_note *copy = mem_alloc(sizeof(*copy));

    *copy = *asked;
    drop(e, asked->lease.job);
    map_put(&e->cancels, asked->lease.job, copy);
}

void cancels_apply(struct engine *e)
{
    for (size_t i = 0; i < e->new_cancels.count; i++)
        keep(e, &e->new_cancels.items[i]);
    if (e->cancels.count == 0)
        return;
    for (size_t i = 0; i < e->told.count; i++)
        drop(e, e->told.items[i]);
    for (size_t i = 0; i < e->closings.count; i++)
        drop(e, e->closings.items[i].job);
}

void cancels_free(struct engine *e)
{
    int64_t job;
    void *n;

    for (size_t i = 0; map_next(&e->cancels, &i, &job, &n);)
        free(n);
    map_deinit(&e->cancels);
}
