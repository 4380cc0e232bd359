/* SPDX-License-Identifier: MIT */
#include "engine/batch/sweep.h"

#include "base/clock.h"
#include "engine/batch/effects.h"
#include "engine/batch/retention.h"
#include "engine/batch/transaction.h"
#include "engine/clock/expire.h"
#include "engine/jobs/finish.h"
#include "engine/queues/subscribers.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"
#include "store/jobs/ready.h"

enum { DUE_ROWS = 500, EXPIRE_JOBS = 1000 };

bool sweep_is_due(const struct engine *e)
{
    const struct live_claim *first = claims_first(&e->claims);

    if (sweep_rests(e))
        return false;
    return bulk_is_due(e) || groups_are_due(e) || sweep_next_wall_at(e) <= e->now.wall_at ||
           (first != NULL && first->check_at <= engine_lease_at(e));
}

bool sweep_rests(const struct engine *e)
{
    return e->now.steady_at < e->sweep.resume_at;
}

int64_t sweep_next_steady_at(const struct engine *e)
{
    const struct live_claim *first = claims_first(&e->claims);

    if (bulk_is_due(e) || e->emitters.settling.count > 0 || e->emitters.is_unsettled ||
        followups_are_due(e) || groups_are_due(e) || e->groups.made_ready)
        return e->now.steady_at;
    int64_t next_at = followups_due_at(e);

    if (bulk_due_at(e) < next_at)
        next_at = bulk_due_at(e);
    if (groups_due_at(e) < next_at)
        next_at = groups_due_at(e);
    if (first == NULL || first->check_at == TIME_NEVER)
        return next_at;
    int64_t leases_at = e->now.steady_at + (first->check_at - engine_lease_at(e));

    return next_at < leases_at ? next_at : leases_at;
}

int64_t sweep_next_wall_at(const struct engine *e)
{
    int64_t next_at = e->sweep.due_at < e->sweep.retain_at ? e->sweep.due_at : e->sweep.retain_at;

    if (e->sweep.uniques_at < next_at)
        next_at = e->sweep.uniques_at;
    if (clock_next_at(e) < next_at)
        next_at = clock_next_at(e);
    if (desk_next_at(e) < next_at)
        next_at = desk_next_at(e);
    return e->sweep.subscribers_at < next_at ? e->sweep.subscribers_at : next_at;
}

/* ---- leases ---- */

/* What a look at a claim finds: the jobs that continue under it. */
struct look {
    size_t open;
    int64_t next_at; /* the earliest end of their leases */
};

/* A lease could not be renewed while the store failed or this process was stopped: it gets a full
 * period after that.  An end more than a period from now is of a clock that was set back since. */
static int64_t lease_end(const struct engine *e, const struct live_claim *claim,
                         const struct job *j)
{
    int64_t outage_at = clocks_outage_at(e, claim->lease_us);
    int64_t since_at = claim->found_at > outage_at ? claim->found_at : outage_at;
    int64_t grace_at = since_at + claim->lease_us;
    bool is_sound = j->lease_until_at <= engine_lease_at(e) + claim->lease_us + LEASE_MARGIN_MAX_US;
    int64_t until_at = lease_ends_at(claim, j->lease_until_at);

    return is_sound && until_at > grace_at ? until_at : grace_at;
}

/* A worker that runs programs and let a lease run out may be frozen while its claim waits: it must
 * not get the lost jobs, to lose them again.  A live worker claims again. */
static void send_back_claims(struct engine *e, int64_t worker)
{
    if (worker == 0)
        return;
    for (struct op *op = e->waiting.claims; op != NULL; op = op->next)
        if (op->exchange.commands && worker_number(e, op->exchange.worker.name) == worker) {
            op->answer_now = true;
            e->waiting.answers_due = true;
        }
}

static enum err_code judge_lease(struct engine *e, const struct live_claim *claim, int64_t id,
                                 struct look *look, struct err *err)
{
    struct attempt_end end = {.outcome = JOB_OUT_LOST, .now_at = e->now.wall_at};
    const struct attempt_gain none = {0};
    bool found = false;
    struct job j;

    if (store_job_load(e->store, id, LOAD_LIVE, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || j.state != JOB_RUNNING || j.token != claim->token)
        return E_OK;
    int64_t until_at = lease_end(e, claim, &j);

    if (until_at <= engine_lease_at(e)) {
        send_back_claims(e, claim->worker);
        return attempt_end_run(e, &j, &end, &none, err);
    }
    look->open++;
    if (until_at < look->next_at)
        look->next_at = until_at;
    return E_OK;
}

/* A job that cannot be read may still run: keeps the claim, and looks again after a lease. */
static void keep_open(struct engine *e, const struct live_claim *claim, struct look *look)
{
    int64_t next_at = engine_lease_at(e) + claim->lease_us;

    look->open++;
    if (next_at < look->next_at)
        look->next_at = next_at;
}

/* Judges a claim that is due: each job is lost, continues, or is no longer of this claim. */
static enum err_code look_at_claim(struct engine *e, struct live_claim *claim, struct err *err)
{
    struct look look = {.next_at = TIME_NEVER};
    size_t place = e->batch.judged_claims.count;

    VEC_PUSH(&e->batch.judged_claims, ((struct judged_claim){.token = claim->token}));
    for (size_t i = 0; i < claim->n_jobs; i++)
        if (job_is_skipped(e, claim->jobs[i]))
            keep_open(e, claim, &look);
        else if (judge_lease(e, claim, claim->jobs[i], &look, err) != E_OK)
            return skip_damaged_job(e, claim->jobs[i], err);
    e->batch.judged_claims.items[place].open = look.open;
    claims_set_check(&e->claims, claim, look.next_at);
    return E_OK;
}

static enum err_code expire(struct engine *e, struct err *err)
{
    size_t jobs = 0;

    while (jobs < EXPIRE_JOBS) {
        struct live_claim *first = claims_first(&e->claims);

        if (first == NULL || first->check_at > engine_lease_at(e))
            break;
        jobs += first->n_jobs;
        if (look_at_claim(e, first, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* ---- due jobs ---- */

static enum err_code wake(struct engine *e, int64_t id, struct err *err)
{
    bool found = false;
    bool hit = false;
    struct job was;

    if (store_job_load(e->store, id, LOAD_LIVE, &e->batch.arena, &was, &found, err) != E_OK)
        return err->code;
    if (!found || was.state != JOB_SCHEDULED)
        return store_job_damaged(e->store, id, "it is listed as due but is not scheduled", err);
    struct job now = was;

    now.state = job_state_next(was.state, JOB_EV_WAKE);
    now.due_at = now.delay_us = 0;
    if (engine_write(e, err) != E_OK || store_job_update(e->store, &was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, id, "it is not as it was read", err);
    effects_move(e, &now, JOB_SCHEDULED, queue_by_id(e, now.queue), "due");
    return E_OK;
}

static enum err_code wake_due(struct engine *e, struct err *err)
{
    int64_t ids[DUE_ROWS];
    size_t n = 0;
    bool rests = must_ask_store(e);

    if (store_due_scan(e->store, e->now.wall_at, ids, DUE_ROWS, &n, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (job_is_skipped(e, ids[i]))
            rests = true;
        else if (wake(e, ids[i], err) != E_OK)
            return skip_damaged_job(e, ids[i], err);
    if (store_due_next(e->store, &e->sweep.due_at, err) != E_OK)
        return err->code;
    if (rests && n < DUE_ROWS && e->sweep.due_at < e->now.wall_at + LOCKED_PAUSE_US)
        /* What is due may be locked by another server, or skipped. */
        e->sweep.due_at = e->now.wall_at + LOCKED_PAUSE_US;
    return E_OK;
}

enum err_code sweep_run(struct engine *e, struct err *err)
{
    if (!sweep_is_due(e))
        return E_OK;
    if (expire(e, err) != E_OK)
        return err->code;
    if (expire_run(e, err) != E_OK)
        return err->code;
    if (e->sweep.due_at <= e->now.wall_at && wake_due(e, err) != E_OK)
        return err->code;
    if ((bulk_is_due(e) && bulk_step(e, err) != E_OK) ||
        (groups_are_due(e) && groups_work(e, err) != E_OK))
        return err->code;
    if (e->sweep.retain_at <= e->now.wall_at && retention_run(e, err) != E_OK)
        return err->code;
    if (uniques_expire(e, err) != E_OK)
        return err->code;
    if (e->sweep.subscribers_at > e->now.wall_at || !shared_is_alone(e))
        return E_OK;
    return subscribers_expire(e, err);
}
