/* SPDX-License-Identifier: MIT */
#include "engine/jobs/cancels.h"

#include <stdlib.h>

#include "engine/reads/job_json.h"
#include "engine/state.h"

static void drop(struct engine *e, int64_t job)
{
    free(map_remove(&e->cancels.by_job, job));
}

bool cancels_report(struct engine *e, struct op *op)
{
    int64_t worker = e->cancels.by_job.count == 0 ? 0 : worker_number(e, op->exchange.worker.name);
    VEC(int64_t) told = VEC_INIT;
    int64_t job;
    void *note;

    if (worker == 0)
        return false;
    for (size_t i = 0; map_next(&e->cancels.by_job, &i, &job, &note);)
        if (((struct cancel_note *)note)->worker == worker)
            VEC_PUSH(&told, job);
    bool any = told.count > 0;

    for (size_t i = 0; i < told.count; i++) {
        const struct cancel_note *n = map_find(&e->cancels.by_job, told.items[i]);
        char text[LEASE_TEXT_SIZE];

        jtext_add_lease(&op->cancels, n->lease.job, lease_format(&e->lease_key, &n->lease, text));
        drop(e, n->lease.job);
    }
    VEC_DEINIT(&told);
    return any;
}

bool cancels_worker_waits(const struct engine *e, int64_t worker)
{
    for (const struct op *op = e->waiting.claims; op != NULL; op = op->next)
        if (worker_number(e, op->exchange.worker.name) == worker)
            return true;
    return false;
}

static void keep(struct engine *e, const struct cancel_note *asked)
{
    if (asked->worker == 0)
        return; /* the worker has no name: a touch reports the cancel */
    if (must_ask_store(e) && !cancels_worker_waits(e, asked->worker))
        return; /* the worker may never ask here: a touch reports it, or another server */
    struct cancel_note *copy = mem_alloc(sizeof(*copy));

    *copy = *asked;
    drop(e, asked->lease.job);
    map_put(&e->cancels.by_job, asked->lease.job, copy);
}

void cancels_apply(struct engine *e)
{
    for (size_t i = 0; i < e->batch.new_cancels.count; i++)
        keep(e, &e->batch.new_cancels.items[i]);
    if (e->cancels.by_job.count == 0)
        return;
    for (size_t i = 0; i < e->batch.reported_cancels.count; i++)
        drop(e, e->batch.reported_cancels.items[i]);
    for (size_t i = 0; i < e->batch.ended_attempts.count; i++)
        drop(e, e->batch.ended_attempts.items[i].job);
}

void cancels_free(struct engine *e)
{
    int64_t job;
    void *n;

    for (size_t i = 0; map_next(&e->cancels.by_job, &i, &job, &n);)
        free(n);
    map_deinit(&e->cancels.by_job);
}
