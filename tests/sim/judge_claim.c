/*
 * What becomes of exchanges: finish, touch, claim, and who waits for what.
 */
/* SPDX-License-Identifier: MIT */
#include "base/id.h"
#include "base/json.h"
#include "sim.h"

/* ---- finish ---- */

static enum err_code finish_late(const struct model_job *j, const struct finish_item *f,
                                 int *ret_again)
{
    enum job_outcome outcome = model_outcome(j, f->token);
    bool last = j->n_record > 0 && j->record[j->n_record - 1].token == f->token;

    *ret_again = WANT_AGAIN;
    /* A job that was handed back is nobody's: how long the store remembers it is its own business. */
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

static enum err_code finish_item(struct sim *s, const struct finish_item *f, int *ret_again)
{
    struct model_job *j = model_find(&s->model, f->id);

    *ret_again = WANT_FRESH;
    if (f->outcome == JOB_OUT_LATER && !f->delayed)
        return E_INVALID;
    if (j == NULL)
        return E_NOT_FOUND;
    if (j->state != JOB_RUNNING || j->token != f->token)
        return finish_late(j, f, ret_again);
    struct model_end end = {.outcome = f->outcome,
                            .exited = f->exited,
                            .exit = f->exit,
                            .final = f->final,
                            .delayed = f->delayed,
                            .delay_us = f->delay_us,
                            .now_at = s->now.wall_at};

    model_end_attempt(&s->model, j, &end);
    j->note = NOTE_NONE;
    return E_OK;
}

void judge_finish(struct sim *s, struct req *r)
{
    const struct exchange *x = &r->op.exchange;

    r->want.code = E_OK;
    r->bad_queue = false;
    for (size_t i = 0; i < r->claim.n_queues; i++)
        r->bad_queue = r->bad_queue || !s->model.queues[r->claim.queues[i]].there;
    if (r->bad_queue) {
        r->want.code = E_INVALID;
        return;
    }
    for (size_t i = 0; i < x->n_finish; i++) {
        int again;

        r->want.finish[i] = finish_item(s, &x->finish[i], &again);
        r->want.again[i] = again;
        r->want.hurry = r->want.hurry || r->want.finish[i] != E_OK ||
                        (again == WANT_EITHER && r->answered);
        if (!r->reply_lost && chance(s, 3) != 0)
            forget_lease(s, r->worker, x->finish[i].token, x->finish[i].id);
    }
}

/* ---- touch ---- */

static void want_cancel(struct req *r, const struct model_job *j)
{
    ASSERT(r->want.n_cancels < sizeof(r->want.cancels) / sizeof(r->want.cancels[0]));
    r->want.cancels[r->want.n_cancels++] = (struct held){j->id, j->token};
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
        if (!j->cancelling)
            continue;
        want_cancel(r, j);
        if (j->note == NOTE_UNTOLD)
            j->note = NOTE_TOLD;
    }
    for (size_t i = 0; i < x->n_touch; i++)
        if (r->want.lost[i] && !r->reply_lost && chance(s, 2) == 0)
            forget_lease(s, r->worker, x->touch[i].token, x->touch[i].id);
    if (x->all && r->worker < MODEL_WORKERS - 1)
        return_others(s, r);
}

/* ---- claim ---- */

static int64_t granted_token(struct sim *s, const struct req *r, const struct model_job *first)
{
    struct slice jobs, job;
    struct json_iter it;

    if (!is_known(r)) {
        const struct job *row = world_row(s, first->id);

        if (row == NULL || row->state != JOB_RUNNING || row->token == first->token) {
            s->no_evidence = true;
            return 0;
        }
        return row->token;
    }
    if (!json_find(buf_slice(&r->op.reply), "jobs", &jobs))
        sim_fail(s, "no jobs in %s", buf_text(&r->op.reply));
    it = json_items(jobs);
    if (!json_next_item(&it, &job))
        sim_fail(s, "job %lld is ready and not granted: %s", (long long)first->id,
                 buf_text(&r->op.reply));
    return reply_id(s, job, "lease");
}

static void grant(struct sim *s, struct req *r, struct model_job *j)
{
    if (j->token >= r->want.token)
        sim_fail(s, "the token of job %lld does not grow", (long long)j->id);
    if (!model_move(&s->model, j, JOB_EV_CLAIM, JOB_RUNNING))
        sim_fail(s, "job %lld cannot be claimed", (long long)j->id);
    j->token = r->want.token;
    j->lease_us = r->op.exchange.lease_us;
    j->lease_at = s->now.steady_at + j->lease_us;
    j->worker = r->worker;
    j->attempt++;
    j->done = j->total = 0;
    r->want.grants[r->want.n_grants++] = (struct grant){j->id, j->attempt};
    if (!r->reply_lost)
        worker_holds(s, r->worker, j->id, j->token);
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

static bool names_gone_queue(const struct sim *s, const struct req *r)
{
    for (size_t i = 0; i < r->claim.n_queues; i++)
        if (!s->model.queues[r->claim.queues[i]].there)
            return true;
    return false;
}

void judge_waiting_claims(struct sim *s)
{
    for (size_t i = 0; i < s->waiting.count && !s->no_evidence; i++) {
        struct req *r = s->waiting.items[i];

        if (r->waits && !r->gone && r->deadline_at > s->now.steady_at && !names_gone_queue(s, r))
            serve(s, r);
    }
}

void judge_claim(struct sim *s, struct req *r)
{
    if (!(r->op.exchange.parts & EXCHANGE_JOBS) || r->want.code != E_OK)
        return;
    s->model.worker_known[r->worker] = true;
    serve(s, r);
}

/* ---- answers ---- */

static bool has_untold(const struct sim *s, const struct req *r)
{
    for (size_t i = 0; i < s->model.n_jobs && r->worker < MODEL_WORKERS - 1; i++) {
        const struct model_job *j = &s->model.jobs[i];

        if (j->worker == r->worker && j->note == NOTE_UNTOLD)
            return true;
    }
    return false;
}

static void tell_cancels(struct sim *s, struct req *r)
{
    for (size_t i = 0; i < s->model.n_jobs && r->worker < MODEL_WORKERS - 1; i++) {
        struct model_job *j = &s->model.jobs[i];

        if (j->note != NOTE_UNTOLD || j->worker != r->worker)
            continue;
        want_cancel(r, j);
        j->note = NOTE_TOLD;
    }
}

static bool next_of(const struct sim *s, const struct req *r, struct json_iter *it,
                    struct slice *ret_item, const char *what)
{
    if (json_next_item(it, ret_item))
        return true;
    sim_fail(s, "too few %s in %s", what, buf_text(&r->op.reply));
}

static struct json_iter list_of(const struct sim *s, const struct req *r, const char *name)
{
    struct slice list;

    if (!json_find(buf_slice(&r->op.reply), name, &list))
        sim_fail(s, "no %s in the reply %s", name, buf_text(&r->op.reply));
    return json_items(list);
}

static void none_left(const struct sim *s, const struct req *r, struct json_iter *it,
                      const char *what)
{
    struct slice item;

    if (json_next_item(it, &item))
        sim_fail(s, "too many %s in %s", what, buf_text(&r->op.reply));
}

static void check_results(const struct sim *s, const struct req *r)
{
    struct json_iter it = list_of(s, r, "results");

    for (size_t i = 0; i < r->op.exchange.n_finish; i++) {
        struct slice item, error, again;

        next_of(s, r, &it, &item, "results");
        bool refused = json_find(item, "error", &error);
        bool repeated = json_find(item, "again", &again);
        enum err_code want = r->want.finish[i];

        if (reply_id(s, item, "id") != r->op.exchange.finish[i].id)
            sim_fail(s, "result %zu is for another job: %s", i, buf_text(&r->op.reply));
        if (r->want.again[i] == WANT_EITHER)
            continue;
        if (refused != (want != E_OK) ||
            repeated != (want == E_OK && r->want.again[i] == WANT_AGAIN))
            sim_fail(s, "result %zu should be %s%s: %s", i, err_name(want),
                     r->want.again[i] == WANT_AGAIN ? ", again" : "", buf_text(&r->op.reply));
        struct slice code;

        if (refused && (!json_find(error, "code", &code) ||
                        memcmp(code.data + 1, err_name(want), strlen(err_name(want))) != 0))
            sim_fail(s, "result %zu should be %s: %s", i, err_name(want), buf_text(&r->op.reply));
    }
    none_left(s, r, &it, "results");
}

static bool is_wanted_cancel(const struct req *r, int64_t id, int64_t token)
{
    for (size_t i = 0; i < r->want.n_cancels; i++)
        if (r->want.cancels[i].id == id && r->want.cancels[i].token == token)
            return true;
    return false;
}

static void check_touched(const struct sim *s, const struct req *r)
{
    struct json_iter it = list_of(s, r, "lost");
    struct slice item;

    for (size_t i = 0; i < r->op.exchange.n_touch; i++) {
        const struct touch_item *t = &r->op.exchange.touch[i];

        if (!r->want.lost[i])
            continue;
        next_of(s, r, &it, &item, "lost leases");
        if (reply_id(s, item, "id") != t->id || reply_id(s, item, "lease") != t->token)
            sim_fail(s, "another lease is lost: %s", buf_text(&r->op.reply));
    }
    none_left(s, r, &it, "lost leases");
    for (size_t i = 0; i < r->want.n_cancels; i++) {
        bool told = false;

        it = list_of(s, r, "cancel");
        while (json_next_item(&it, &item))
            told = told || (reply_id(s, item, "id") == r->want.cancels[i].id &&
                            reply_id(s, item, "lease") == r->want.cancels[i].token);
        if (!told)
            sim_fail(s, "the worker is not told to stop job %lld: %s",
                     (long long)r->want.cancels[i].id, buf_text(&r->op.reply));
    }
    it = list_of(s, r, "cancel");
    while (json_next_item(&it, &item))
        if (!is_wanted_cancel(r, reply_id(s, item, "id"), reply_id(s, item, "lease")))
            sim_fail(s, "the worker is told to stop what nobody cancelled: %s",
                     buf_text(&r->op.reply));
}

static void check_jobs(const struct sim *s, const struct req *r)
{
    struct json_iter it = list_of(s, r, "jobs");

    for (size_t i = 0; i < r->want.n_grants; i++) {
        const struct grant *g = &r->want.grants[i];
        struct slice item, attempt;

        next_of(s, r, &it, &item, "jobs");
        if (reply_id(s, item, "id") != g->id)
            sim_fail(s, "job %lld should be granted at place %zu: %s", (long long)g->id, i,
                     buf_text(&r->op.reply));
        if (reply_id(s, item, "lease") != r->want.token)
            sim_fail(s, "one claim gave two tokens: %s", buf_text(&r->op.reply));
        if (!json_find(item, "attempt", &attempt) || json_int(attempt) != g->attempt)
            sim_fail(s, "attempt %d of job %lld is told otherwise: %s", g->attempt,
                     (long long)g->id, buf_text(&r->op.reply));
    }
    none_left(s, r, &it, "jobs");
}

static void check_exchange(const struct sim *s, const struct req *r)
{
    struct err err = ERR_INIT;
    struct slice value;

    expect_code(s, r, r->want.code);
    if (!is_known(r) || r->want.code != E_OK)
        return;
    if (json_check(buf_slice(&r->op.reply), &value, &err) != E_OK)
        sim_fail(s, "the reply is no JSON: %s: %s", err.msg, buf_text(&r->op.reply));
    if (r->op.exchange.parts & EXCHANGE_RESULTS)
        check_results(s, r);
    if (r->op.exchange.parts & EXCHANGE_TOUCHED)
        check_touched(s, r);
    if (r->op.exchange.parts & EXCHANGE_JOBS)
        check_jobs(s, r);
}

static void must_be_answered(const struct sim *s, const struct req *r, const char *why)
{
    if (!r->answered)
        sim_fail(s, "an op of kind %d is not answered though %s", (int)r->op.kind, why);
}

static void answer_waiting(struct sim *s)
{
    for (size_t i = 0; i < s->waiting.count; i++) {
        struct req *r = s->waiting.items[i];
        bool now = r->want.n_grants > 0 || r->deadline_at <= s->now.steady_at || has_untold(s, r) ||
                   names_gone_queue(s, r);

        if (!r->waits || (!now && !(r->gone && r->answered)))
            continue;
        must_be_answered(s, r, "its time has come");
        tell_cancels(s, r);
        check_exchange(s, r);
        r->waits = false;
    }
}

static bool target_lives(struct sim *s, const struct req *r)
{
    const struct model_job *j = model_find(&s->model, r->op.wait.id);

    return j != NULL && !job_state_ended(j->state);
}

static void answer_waits(struct sim *s)
{
    for (size_t i = 0; i < s->waits.count; i++) {
        struct req *r = s->waits.items[i];

        const struct model_job *j = model_find(&s->model, r->op.wait.id);

        if (!r->waits || (target_lives(s, r) && !j->ended && r->deadline_at > s->now.steady_at))
            continue;
        must_be_answered(s, r, "its job has ended or its time is up");
        r->waits = false;
    }
}

static size_t waiting_now(const struct sim *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->waiting.count; i++)
        n += s->waiting.items[i]->waits;
    for (size_t i = 0; i < s->waits.count; i++)
        n += s->waits.items[i]->waits;
    return n;
}

/* False when it may not wait: then it is answered with r->want.code. */
static bool may_wait(struct sim *s, struct req *r, int64_t wait_us)
{
    if (wait_us == 0)
        return false;
    if (waiting_now(s) >= SIM_WAITING) {
        /* What was finished or touched is told; who asked for nothing else comes again. */
        if (r->op.kind != OP_EXCHANGE || r->op.exchange.n_finish + r->op.exchange.n_touch == 0)
            r->want.code = E_TOO_MANY;
        return false;
    }
    r->waits = r->listed = true;
    r->deadline_at = s->now.steady_at + wait_us;
    return true;
}

static void answer_claim(struct sim *s, struct req *r)
{
    bool at_once = r->want.n_grants > 0 || r->want.hurry || has_untold(s, r);

    if (!at_once && may_wait(s, r, r->op.exchange.wait_us)) {
        VEC_PUSH(&s->waiting, r);
        return;
    }
    must_be_answered(s, r, "there is nothing to wait for");
    tell_cancels(s, r);
    check_exchange(s, r);
}

static void answer_wait(struct sim *s, struct req *r)
{
    if (target_lives(s, r) && may_wait(s, r, r->op.wait.wait_us)) {
        VEC_PUSH(&s->waits, r);
        return;
    }
    must_be_answered(s, r, "there is nothing to wait for");
    expect_code(s, r, r->want.code);
}

void judge_answers(struct sim *s, struct req **reqs, size_t n)
{
    answer_waiting(s);
    answer_waits(s);
    for (size_t i = 0; i < n; i++) {
        struct req *r = reqs[i];

        if (r->op.kind == OP_EXCHANGE && r->op.exchange.parts & EXCHANGE_JOBS &&
            r->want.code == E_OK)
            answer_claim(s, r);
        else if (r->op.kind == OP_WAIT)
            answer_wait(s, r);
        else {
            must_be_answered(s, r, "it never waits");
            if (r->op.kind == OP_EXCHANGE)
                check_exchange(s, r);
        }
    }
}
