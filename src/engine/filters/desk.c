/* SPDX-License-Identifier: MIT */
#include "engine/filters/desk.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/filters/drops.h"
#include "engine/filters/filters.h"
#include "engine/jobs/job_action.h"
#include "engine/jobs/job_end.h"
#include "engine/reads/job_json.h"
#include "engine/state.h"
#include "store/filters/waits.h"
#include "store/jobs/jobs.h"

#define GRANT_US (60 * US_PER_S)
#define PAUSE_FIRST_US (1 * US_PER_S)
#define PAUSE_CAP_US (60 * US_PER_S)
#define OTHERS_LOOK_US US_PER_S /* shared stores: other servers make such jobs too */

enum { ORPHANS_MAX = 100, WHY_MAX = 300 };

/* ---- jobs that wait ---- */

enum err_code desk_add(struct engine *e, const struct job *j, struct err *err)
{
    e->desk.look_at = 0;
    return store_filter_wait_add(e->store, j->id.v, j->queue, err);
}

void desk_redefined(struct engine *e)
{
    e->desk.knows_orphans = false;
}

static enum err_code load(struct engine *e, int64_t id, struct job *ret_job, bool *ret_waits,
                          struct err *err)
{
    bool found = false;

    if (lock_job(e, id, err) != E_OK ||
        store_job_load(e->store, id, LOAD_ALL, &e->batch.arena, ret_job, &found, err) != E_OK)
        return err->code;
    *ret_waits = found && ret_job->state == JOB_HELD && ret_job->holds & JOB_HOLD_FILTER;
    return E_OK;
}

/* ---- verdicts ---- */

static enum err_code merge_params(struct engine *e, const struct job *j, struct slice patch,
                                  struct err *err)
{
    CLEANUP(buf) struct buf both = BUF_INIT(2 * JOB_BYTES_MAX);
    struct job_action_result result;

    if (patch.size == 0)
        return E_OK;
    jtext_add_merged(&both, j->params.size > 0 ? j->params : SLICE("{}"), patch);
    struct job_action action = {.kind = ACTION_PATCH,
                                .id = j->id.v,
                                .params = arena_copy(&e->batch.arena, buf_slice(&both)),
                                .may_command = true};

    return job_action_apply(e, &action, j, &result, err);
}

static enum err_code keep(struct engine *e, int64_t id, struct slice patch, struct err *err)
{
    bool waits = false;
    bool hit = false;
    struct job was;

    if (load(e, id, &was, &waits, err) != E_OK)
        return err->code;
    if (!waits)
        return store_filter_wait_remove(e->store, id, err);
    if (merge_params(e, &was, patch, err) != E_OK || load(e, id, &was, &waits, err) != E_OK)
        return err->code;
    struct job now = was;

    now.holds &= ~(unsigned)JOB_HOLD_FILTER;
    job_settle(e, &now);
    if (store_filter_wait_remove(e->store, id, err) != E_OK ||
        store_job_update(e->store, &was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, id, "it is not as it was read", err);
    effects_move(e, &now, was.state, queue_by_id(e, was.queue), "kept");
    return E_OK;
}

static enum err_code drop(struct engine *e, int64_t id, struct slice why, struct err *err)
{
    struct filter_drop dropped = {.filter = FILTER_COMMAND,
                                  .text = why.size > 0 ? why : SLICE("dropped without a reason")};
    bool waits = false;
    struct job was;

    if (load(e, id, &was, &waits, err) != E_OK ||
        store_filter_wait_remove(e->store, id, err) != E_OK)
        return err->code;
    if (!waits)
        return E_OK;
    drops_note(e, was.queue, &dropped);
    return job_end_unrun(e, &was, JOB_EV_CANCEL, JOB_CAUSE_DROPPED, dropped.text, err);
}

/* The filter failed: the job stays held, and is tried again after a growing pause. */
static enum err_code fail(struct engine *e, int64_t id, struct slice why, struct err *err)
{
    struct filter_wait wait;
    int64_t pause_us = PAUSE_FIRST_US;

    if (store_filter_wait_find(e->store, id, &e->batch.arena, &wait, err) != E_OK)
        return err->code;
    if (wait.job == 0)
        return E_OK;
    for (int64_t i = 0; i < wait.tries && pause_us < PAUSE_CAP_US; i++)
        pause_us *= 2;
    wait.tries++;
    wait.due_at = e->now.wall_at + (pause_us < PAUSE_CAP_US ? pause_us : PAUSE_CAP_US);
    wait.why = why;
    if (wait.due_at < e->desk.look_at)
        e->desk.look_at = wait.due_at;
    return store_filter_wait_fail(e->store, &wait, err);
}

static void forget_grant(struct engine *e, int64_t job)
{
    size_t kept = 0;

    for (size_t i = 0; i < e->desk.granted.count; i++)
        if (e->desk.granted.items[i].job != job &&
            e->desk.granted.items[i].until_at > e->now.steady_at)
            e->desk.granted.items[kept++] = e->desk.granted.items[i];
    e->desk.granted.count = kept;
}

enum err_code desk_verdicts_run(struct engine *e, struct op *op, struct err *err)
{
    const struct filter_ask *x = &op->filter;

    op->status = 200;
    for (size_t i = 0; i < x->n_verdicts; i++) {
        const struct filter_answer *a = &x->verdicts[i];
        enum err_code code = E_OK;

        if (engine_write(e, err) != E_OK)
            return err->code;
        switch (a->kind) {
        case FILTER_SAYS_KEEP: code = keep(e, a->id, a->params, err); break;
        case FILTER_SAYS_DROP: code = drop(e, a->id, a->text, err); break;
        case FILTER_FAILED: code = fail(e, a->id, a->text, err); break;
        }
        if (code != E_OK)
            return code;
        forget_grant(e, a->id);
    }
    return E_OK;
}

/* ---- jobs whose filter is gone ---- */

static bool judges_by_command(const struct queue *q)
{
    return q != NULL && filters_run_program(&q->def.filters);
}

struct orphans {
    struct engine *engine;
    int64_t queue; /* the first without a command filter; 0: none */
};

static void look_for_orphan(void *ctx, int64_t queue)
{
    struct orphans *o = ctx;

    if (o->queue == 0 && !judges_by_command(map_find(&o->engine->queues.by_id, queue)))
        o->queue = queue;
}

static enum err_code keep_orphans(struct engine *e, struct err *err)
{
    struct orphans o = {.engine = e};
    int64_t jobs[ORPHANS_MAX];
    size_t n = 0;

    if (e->desk.knows_orphans || sweep_rests(e))
        return E_OK;
    if (store_filter_waits_queues(e->store, look_for_orphan, &o, err) != E_OK)
        return err->code;
    e->desk.knows_orphans = o.queue == 0;
    if (o.queue == 0)
        return E_OK;
    if (engine_write(e, err) != E_OK ||
        store_filter_waits_due(e->store, o.queue, INT64_MAX, ORPHANS_MAX, jobs, &n, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (keep(e, jobs[i], slice_make(NULL, 0), err) != E_OK)
            return err->code;
    return E_OK;
}

/* ---- giving ---- */

static bool is_granted(const struct engine *e, int64_t job)
{
    for (size_t i = 0; i < e->desk.granted.count; i++)
        if (e->desk.granted.items[i].job == job &&
            e->desk.granted.items[i].until_at > e->now.steady_at)
            return true;
    return false;
}

static enum err_code give(struct engine *e, struct op *op, const struct queue *q, int64_t id,
                          struct err *err)
{
    bool found = false;
    struct job j;

    if (store_job_load(e->store, id, LOAD_ALL, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || !(j.state == JOB_HELD && j.holds & JOB_HOLD_FILTER)) /* cancelled, or deleted */
        return engine_write(e, err) != E_OK ? err->code
                                            : store_filter_wait_remove(e->store, id, err);
    buf_add_str(&op->reply, op->n_granted == 0 ? "{\"jobs\":[{" : ",{");
    jtext_add_id(&op->reply, "id", id);
    jtext_put_string(&op->reply, "queue", slice_of(q->name));
    jtext_put_raw(&op->reply, "params", j.params.size > 0 ? j.params : SLICE("{}"));
    if (j.labels.size > 0)
        jtext_put_raw(&op->reply, "labels", j.labels);
    buf_add_char(&op->reply, '}');
    op->n_granted++;
    VEC_PUSH(&e->desk.granted, ((struct desk_grant){id, e->now.steady_at + GRANT_US}));
    return E_OK;
}

static enum err_code give_of_queue(struct engine *e, struct op *op, const struct queue *q,
                                   struct err *err)
{
    size_t max = (size_t)op->filter.max;
    size_t n = max + e->desk.granted.count; /* those that others have may come first */
    int64_t *jobs = arena_array(&e->batch.arena, n + 1, sizeof(*jobs));
    int64_t next_at = TIME_NEVER;

    if (store_filter_waits_due(e->store, q->id, e->now.wall_at, n, jobs, &n, err) != E_OK ||
        store_filter_waits_next(e->store, q->id, e->now.wall_at, &next_at, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (is_granted(e, jobs[i]) || op->n_granted >= max)
            next_at = e->now.wall_at + US_PER_S; /* others may have to take it over */
        else if (give(e, op, q, jobs[i], err) != E_OK)
            return err->code;
    if (next_at < e->desk.look_at)
        e->desk.look_at = next_at;
    return E_OK;
}

static enum err_code give_to(struct engine *e, struct op *op, struct err *err)
{
    buf_clear(&op->reply);
    op->n_granted = 0;
    for (size_t i = 0; i < op->filter.n_queues; i++) {
        const struct queue *q = queue_find(e, op->filter.queues[i]);

        if (judges_by_command(q) && op->n_granted < (size_t)op->filter.max &&
            give_of_queue(e, op, q, err) != E_OK)
            return err->code;
    }
    if (op->n_granted > 0)
        buf_add_str(&op->reply, "]}");
    return E_OK;
}

enum err_code desk_grant(struct engine *e, struct err *err)
{
    bool asked = false;

    if (keep_orphans(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < e->batch.n_ops; i++)
        asked = asked || e->batch.ops[i]->kind == OP_FILTER;
    if (!asked && (e->desk.askers == NULL || e->desk.look_at > e->now.wall_at))
        return E_OK;
    e->desk.look_at = must_ask_store(e) ? e->now.wall_at + OTHERS_LOOK_US : TIME_NEVER;
    for (struct op *op = e->desk.askers; op != NULL; op = op->next)
        if (give_to(e, op, err) != E_OK)
            return err->code;
    for (size_t i = 0; i < e->batch.n_ops; i++)
        if (e->batch.ops[i]->kind == OP_FILTER && give_to(e, e->batch.ops[i], err) != E_OK)
            return err->code;
    return E_OK;
}

/* ---- answers ---- */

bool desk_has_answer(const struct op *op)
{
    return op->n_granted > 0 || op->err.code != E_OK || op->filter.n_verdicts > 0;
}

void desk_close(struct op *op)
{
    if (op->n_granted == 0 && op->err.code == E_OK) {
        buf_clear(&op->reply);
        buf_add_str(&op->reply, "{\"jobs\":[]}");
    }
}

int64_t desk_next_at(const struct engine *e)
{
    return e->desk.askers == NULL ? TIME_NEVER : e->desk.look_at;
}

void desk_free(struct engine *e)
{
    VEC_DEINIT(&e->desk.granted);
}
