/*
 * What becomes of exchanges: finish, touch, claim.
 */
/* SPDX-License-Identifier: MIT */
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "sim.h"

bool is_outdated(const struct sim *s, const struct req *r)
{
    return r->op.exchange.has_definitions && r->op.exchange.definitions != s->model.definitions;
}

/* ---- the whole, and the logs that come with it ---- */

static struct held told_lease(int64_t id, struct slice text)
{
    struct held lease = {.id = id};

    ASSERT(lease_parse(text, &lease.token, &lease.fence));
    return lease;
}

static void take_log(struct sim *s, struct req *r, const struct log_append *l, struct held lease)
{
    struct model_job *j = model_find(&s->model, lease.id);

    if (l == NULL || j == NULL || j->state != JOB_RUNNING || j->token != lease.token)
        return;
    int64_t end = l->offset + (int64_t)l->data.size;

    if (l->offset > j->log_size ||
        (end > j->log_size && end > model_def_of(&s->model, j)->keep_log * j->attempt)) {
        r->want.hurry = true;
        r->want.logs[r->want.n_logs++] = (struct log_end){lease, j->log_size};
        return;
    }
    j->log_size = end > j->log_size ? end : j->log_size;
    j->changed = true;
}

void judge_exchange(struct sim *s, struct req *r)
{
    const struct exchange *x = &r->op.exchange;

    r->want.code = name_judge(s, r);
    if (r->want.code != E_OK)
        return;
    /* Who works by other definitions is told so, and may name what is not there. */
    r->want.hurry = is_outdated(s, r);
    r->bad_queue = names_gone_queue(s, r) && !is_outdated(s, r);
    r->want.code = r->bad_queue ? E_INVALID : E_OK;
    if (!r->bad_queue)
        name_take(s, r);
    for (size_t i = 0; i < x->n_touch && !r->bad_queue; i++)
        take_log(s, r, x->touch[i].log, told_lease(x->touch[i].id, x->touch[i].lease));
    for (size_t i = 0; i < x->n_finish && !r->bad_queue; i++)
        take_log(s, r, x->finish[i].log, told_lease(x->finish[i].id, x->finish[i].lease));
}

/* ---- finish ---- */

static enum err_code finish_late(const struct model_job *j, const struct finish_item *f,
                                 int *ret_again)
{
    enum job_outcome outcome = model_outcome(j, f->token);
    bool last = j->n_record > 0 && j->record[j->n_record - 1].token == f->token;

    *ret_again = WANT_AGAIN;
    /* The store may forget at any time who returned a job. */
    if (outcome == JOB_OUT_RETURNED && !last)
        *ret_again = WANT_EITHER;
    return outcome != JOB_OUT_NONE && outcome == f->outcome ? E_OK : E_STALE_LEASE;
}

static void forget_lease(struct sim *s, int worker, int64_t token, int64_t id)
{
    for (size_t i = 0; i < s->n_held[worker]; i++)
        if (s->held[worker][i].token == token && s->held[worker][i].id == id) {
            s->held[worker][i] = s->held[worker][--s->n_held[worker]];
            return;
        }
}

static enum err_code finish_item(struct sim *s, struct req *r, const struct finish_item *f,
                                 int *ret_again)
{
    struct model_job *j = model_find(&s->model, f->id);

    *ret_again = WANT_FRESH;
    if (f->outcome == JOB_OUT_LATER && !f->delayed)
        return E_INVALID;
    if (j == NULL)
        return E_NOT_FOUND;
    if (j->state != JOB_RUNNING || j->token != f->token)
        return finish_late(j, f, ret_again);
    const struct gained *g = &r->gains[f - r->finish];
    enum err_code refused = judge_finish_emits(s, r, f);

    if (refused == E_OK && g->n_steps > 0)
        refused = model_may_add(&s->model, j, g->steps, g->n_steps);
    if (refused != E_OK)
        return refused;
    struct model_end end = {.outcome = f->outcome,
                            .exited = f->exited,
                            .exit = f->exit,
                            .final = f->final,
                            .delayed = f->delayed,
                            .delay_us = f->delay_us,
                            .now_at = s->now.wall_at,
                            .set = g->set,
                            .result = g->result[0] == '\0' ? NULL : g->result,
                            .steps = g->steps,
                            .n_steps = g->n_steps};

    model_end_attempt(&s->model, j, &end);
    j->note = NOTE_NONE;
    judge_make_finish_emits(s, r, f);
    if (f->n_raises > 0)
        s->model.links.signals[g->signal] += g->raised;
    return E_OK;
}

void judge_finish(struct sim *s, struct req *r)
{
    const struct exchange *x = &r->op.exchange;

    if (r->want.code != E_OK)
        return;
    for (size_t i = 0; i < x->n_finish; i++) {
        int again;

        r->want.finish[i] = finish_item(s, r, &x->finish[i], &again);
        r->want.again[i] = again;
        r->want.hurry = r->want.hurry || r->want.finish[i] != E_OK ||
                        (again == WANT_EITHER && r->answered);
        if (!r->reply_lost && chance(s, 3) != 0)
            forget_lease(s, r->worker, x->finish[i].token, x->finish[i].id);
    }
}

/* ---- touch ---- */

void want_cancel(struct req *r, const struct model_job *j)
{
    ASSERT(r->want.n_cancels < sizeof(r->want.cancels) / sizeof(r->want.cancels[0]));
    r->want.cancels[r->want.n_cancels++] = (struct held){j->id, j->token, j->fence};
}

static bool is_touched(const struct exchange *x, const struct model_job *j)
{
    for (size_t i = 0; i < x->n_touch; i++)
        if (x->touch[i].id == j->id && x->touch[i].token == j->token)
            return true;
    return false;
}

/* Whatever else was granted to the worker comes back uncounted. */
static void return_others(struct sim *s, const struct req *r)
{
    struct model_end end = {.outcome = JOB_OUT_RETURNED, .now_at = s->now.wall_at};

    for (size_t i = 0; i < s->model.n_jobs; i++) {
        struct model_job *j = &s->model.jobs[i];

        if (j->state == JOB_RUNNING && j->worker == r->worker && !is_touched(&r->op.exchange, j)) {
            model_end_attempt(&s->model, j, &end);
            j->note = NOTE_NONE;
        }
    }
}

void judge_touch(struct sim *s, struct req *r)
{
    const struct exchange *x = &r->op.exchange;

    if (r->want.code != E_OK)
        return;
    for (size_t i = 0; i < x->n_touch; i++) {
        const struct touch_item *t = &x->touch[i];
        struct model_job *j = model_find(&s->model, t->id);

        r->want.lost[i] = j == NULL || j->state != JOB_RUNNING || j->token != t->token;
        r->want.hurry = r->want.hurry || r->want.lost[i];
        if (r->want.lost[i])
            continue;
        j->lease_at = s->now.steady_at + j->lease_us;
        j->changed = true;
        if (t->has_done) {
            j->done = t->done;
            j->total = t->total;
        }
        if (t->has_unit)
            j->unit = t->unit.size > 0;
        if (t->has_left)
            j->expected_at = t->left_us < 0 ? 0 : s->now.wall_at + t->left_us;
        if (!j->cancelling)
            continue;
        want_cancel(r, j);
        if (j->note == NOTE_UNTOLD)
            j->note = NOTE_TOLD;
    }
    for (size_t i = 0; i < x->n_touch; i++)
        if (r->want.lost[i] && !r->reply_lost && chance(s, 2) == 0)
            forget_lease(s, r->worker, x->touch[i].token, x->touch[i].id);
    if (x->all && r->worker < MODEL_WORKERS - 1 && !r->strips_none)
        return_others(s, r);
}

/* ---- claim ---- */

static int64_t granted_token(struct sim *s, const struct req *r, const struct model_job *first)
{
    struct slice jobs, job;
    struct jtext_iter it;

    if (!is_known(r)) {
        const struct job *row = world_row(s, first->id);

        if (row == NULL || row->state != JOB_RUNNING || row->token == first->token) {
            s->no_evidence = true;
            return 0;
        }
        return row->token;
    }
    if (!jtext_find(buf_slice(&r->op.reply), "jobs", &jobs))
        sim_fail(s, "no jobs in %s", buf_text(&r->op.reply));
    it = jtext_items(jobs);
    if (!jtext_next_item(&it, &job))
        sim_fail(s, "job %lld is ready and not granted: %s", (long long)first->id,
                 buf_text(&r->op.reply));
    return reply_lease(s, job).token;
}

/* Above all that the job was ever granted by. */
static int64_t granted_fence(struct sim *s, const struct req *r, const struct model_job *j)
{
    int64_t fence = 0;
    struct slice jobs, item;

    if (!is_known(r))
        fence = job_fence(world_row(s, j->id));
    else if (jtext_find(buf_slice(&r->op.reply), "jobs", &jobs))
        for (struct jtext_iter it = jtext_items(jobs); jtext_next_item(&it, &item);)
            if (reply_id(s, item, "id") == j->id)
                fence = reply_lease(s, item).fence;
    if (fence <= j->fence)
        sim_fail(s, "the fence of job %lld is %lld after %lld", (long long)j->id, (long long)fence,
                 (long long)j->fence);
    return fence;
}

static void grant(struct sim *s, struct req *r, struct model_job *j)
{
    if (j->token >= r->want.token)
        sim_fail(s, "the token of job %lld does not grow", (long long)j->id);
    if (!model_move(&s->model, j, JOB_EV_CLAIM, JOB_RUNNING))
        sim_fail(s, "job %lld cannot be claimed", (long long)j->id);
    j->token = r->want.token;
    j->fence = granted_fence(s, r, j);
    j->lease_us = r->op.exchange.lease_us;
    j->lease_at = s->now.steady_at + j->lease_us;
    j->worker = r->worker;
    j->server = sim_at(s);
    j->attempt++;
    j->done = j->total = j->expected_at = 0;
    j->unit = false;
    struct grant *g = &r->want.grants[r->want.n_grants++];

    *g = (struct grant){.id = j->id,
                        .fence = j->fence,
                        .attempt = j->attempt - j->attempts_before,
                        .cursor = j->cursor,
                        .step = j->step};
    model_seen(j, g->params);
    if (!r->reply_lost)
        worker_holds(s, r->worker, (struct held){j->id, j->token, j->fence});
}

static void serve(struct sim *s, struct req *r)
{
    size_t picks[MODEL_JOBS_MAX / 8];
    size_t n = model_pick(&s->model, &r->claim, picks, sizeof(picks) / sizeof(picks[0]));

    if (n == 0)
        return;
    if (!r->answered)
        sim_fail(s, "a waiting claimer is not woken though job %lld is ready for it",
                 (long long)s->model.jobs[picks[0]].id);
    r->want.token = granted_token(s, r, &s->model.jobs[picks[0]]);
    if (s->no_evidence)
        return;
    if (r->want.token <= s->model.newest_id)
        sim_fail(s, "the new token %lld is not above %lld", (long long)r->want.token,
                 (long long)s->model.newest_id);
    s->model.newest_id = r->want.token;
    for (size_t i = 0; i < n; i++)
        grant(s, r, &s->model.jobs[picks[i]]);
}

bool names_gone_queue(const struct sim *s, const struct req *r)
{
    for (size_t i = 0; i < r->claim.n_queues; i++)
        if (!s->model.queues[r->claim.queues[i]].there)
            return true;
    return false;
}

void judge_waiting_claims(struct sim *s)
{
    for (size_t i = 0; i < s->at->waiting.count && !s->no_evidence; i++) {
        struct req *r = s->at->waiting.items[i];

        if (r->waits && !r->gone && !r->sent_back && r->deadline_at > s->now.steady_at &&
            !is_outdated(s, r) && !names_gone_queue(s, r))
            serve(s, r);
    }
}

void judge_claim(struct sim *s, struct req *r)
{
    if (!(r->op.exchange.parts & EXCHANGE_JOBS) || r->want.code != E_OK)
        return;
    s->model.worker_known[r->worker] = true;
    if (!is_outdated(s, r))
        serve(s, r);
}
