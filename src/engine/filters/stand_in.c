/*
 * Clashes in which another job stands for the new one, or lends it its result.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/filters/filters.h"
#include "engine/followups/waiter.h"
#include "engine/jobs/job_action.h"
#include "engine/jobs/rights.h"
#include "engine/jobs/submit.h"
#include "engine/queues/queue.h"
#include "engine/shared/shared.h"
#include "store/jobs/jobs.h"
#include "store/store.h"

enum err_code filters_replace(struct engine *e, const struct filter_ruling *r, struct slice params,
                              int64_t due_at, struct err *refused, struct err *err)
{
    int64_t max_at = r->put_off_max_at;
    struct job_action patch = {.kind = ACTION_PATCH,
                               .id = r->drop.job,
                               .params = params.size > 0 ? params : SLICE("{}"),
                               .has_due = true,
                               .due_at = max_at > 0 && due_at > max_at ? max_at : due_at};
    struct job_action_result result;
    bool found = false;
    struct job j;

    if (submit_flush(e, err) != E_OK || lock_job(e, patch.id, err) != E_OK ||
        store_job_load(batch_store(e), patch.id, LOAD_ALL, batch_arena(e), &j, &found, err) != E_OK)
        return err->code;
    if (!found || !job_state_waits(j.state))
        return E_OK;
    /* Who submits need not have the right to change what a job's own command is run with. */
    if (rights_judge_change_of(e, patch.id, "params", refused, err) != E_OK ||
        refused->code != E_OK)
        return refused->code != E_OK ? E_OK : err->code;
    if (job_action_apply(e, &patch, &j, &result, err) != E_OK)
        return err->code;
    *refused = result.refused;
    return E_OK;
}

enum err_code filters_end_released(struct engine *e, const struct filter_ruling *r, int64_t id,
                                   struct err *err)
{
    bool found = false;
    bool lends = false;
    bool hit = false;
    struct job lender;
    struct job was;

    if (store_job_load(batch_store(e), r->drop.job, LOAD_ALL, batch_arena(e), &lender, &lends,
                       err) != E_OK ||
        store_job_load(batch_store(e), id, LOAD_LIVE, batch_arena(e), &was, &found, err) != E_OK)
        return err->code;
    if (!found)
        return store_job_damaged(batch_store(e), id, "its row is missing", err);
    if (!lends)
        return E_OK;
    struct job now = was;

    now.state = job_state_next(job_state_next(JOB_READY, JOB_EV_CLAIM), JOB_EV_DONE);
    now.text = lender.text;
    now.result = lender.result;
    now.finished_at = batch_now(e).wall_at;
    if (after_forget(e, &was, err) != E_OK ||
        store_job_end(batch_store(e), &was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(batch_store(e), id, "it is not as it was read", err);
    effects_move(e, &now, was.state, queue_by_id(e, was.queue), job_state_name(now.state));
    return E_OK;
}
