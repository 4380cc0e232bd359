/*
 * Who is answered when a batch is through, with what, and who goes on waiting.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "sim.h"

/* ---- cancels ---- */

/* On a shared store only what a touch says is a promise: a server remembers cancels only of workers
 * that wait there. */
static bool tells_cancels(const struct req *r)
{
    struct slice list, item;

    if (!is_known(r) || !jtext_find(buf_slice(&r->op.reply), "cancel", &list))
        return false;
    struct jtext_iter it = jtext_items(list);

    return jtext_next_item(&it, &item);
}

static bool has_untold(const struct sim *s, const struct req *r)
{
    if (s->shared)
        return tells_cancels(r);
    for (size_t i = 0; i < s->model.n_jobs && r->worker < MODEL_WORKERS - 1; i++) {
        const struct model_job *j = &s->model.jobs[i];

        if (j->worker == r->worker && j->note == NOTE_UNTOLD)
            return true;
    }
    return false;
}

static void tell_cancels(struct sim *s, struct req *r)
{
    for (size_t i = 0; i < s->model.n_jobs && r->worker < MODEL_WORKERS - 1 && !s->shared; i++) {
        struct model_job *j = &s->model.jobs[i];

        if (j->note != NOTE_UNTOLD || j->worker != r->worker)
            continue;
        want_cancel(r, j);
        j->note = NOTE_TOLD;
    }
}

static bool next_of(const struct sim *s, const struct req *r, struct jtext_iter *it,
                    struct slice *ret_item, const char *what)
{
    if (jtext_next_item(it, ret_item))
        return true;
    sim_fail(s, "too few %s in %s", what, buf_text(&r->op.reply));
}

static struct jtext_iter list_of(const struct sim *s, const struct req *r, const char *name)
{
    struct slice list;

    if (!jtext_find(buf_slice(&r->op.reply), name, &list))
        sim_fail(s, "no %s in the reply %s", name, buf_text(&r->op.reply));
    return jtext_items(list);
}

static void none_left(const struct sim *s, const struct req *r, struct jtext_iter *it,
                      const char *what)
{
    struct slice item;

    if (jtext_next_item(it, &item))
        sim_fail(s, "too many %s in %s", what, buf_text(&r->op.reply));
}

static void check_results(const struct sim *s, const struct req *r)
{
    struct jtext_iter it = list_of(s, r, "results");

    for (size_t i = 0; i < r->op.exchange.n_finish; i++) {
        struct slice item, error, again;

        next_of(s, r, &it, &item, "results");
        bool refused = jtext_find(item, "error", &error);
        bool repeated = jtext_find(item, "again", &again);
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

        if (refused && (!jtext_find(error, "code", &code) ||
                        memcmp(code.data + 1, err_name(want), strlen(err_name(want))) != 0))
            sim_fail(s, "result %zu should be %s: %s", i, err_name(want), buf_text(&r->op.reply));
    }
    none_left(s, r, &it, "results");
}

static bool is_wanted_cancel(const struct req *r, struct held lease)
{
    for (size_t i = 0; i < r->want.n_cancels; i++)
        if (same_lease(r->want.cancels[i], lease))
            return true;
    return false;
}

static void check_touched(const struct sim *s, const struct req *r)
{
    struct jtext_iter it = list_of(s, r, "lost");
    struct slice item;

    for (size_t i = 0; i < r->op.exchange.n_touch; i++) {
        const struct touch_item *t = &r->op.exchange.touch[i];

        if (!r->want.lost[i])
            continue;
        next_of(s, r, &it, &item, "lost leases");
        struct held lost = reply_lease(s, item);

        if (lost.id != t->id || lost.token != t->token)
            sim_fail(s, "another lease is lost: %s", buf_text(&r->op.reply));
    }
    none_left(s, r, &it, "lost leases");
    for (size_t i = 0; i < r->want.n_cancels; i++) {
        bool told = false;

        it = list_of(s, r, "cancel");
        while (jtext_next_item(&it, &item))
            told = told || same_lease(reply_lease(s, item), r->want.cancels[i]);
        if (!told)
            sim_fail(s, "the worker is not told to stop job %lld: %s",
                     (long long)r->want.cancels[i].id, buf_text(&r->op.reply));
    }
    it = list_of(s, r, "cancel");
    while (jtext_next_item(&it, &item) && !s->shared)
        if (!is_wanted_cancel(r, reply_lease(s, item)))
            sim_fail(s, "the worker is told to stop what nobody cancelled: %s",
                     buf_text(&r->op.reply));
}

/* A step sees its own params over what was set before it. */
static void check_step(const struct sim *s, const struct req *r, const struct grant *g,
                       struct slice item)
{
    struct slice params, step, number;

    if (!jtext_find(item, "params", &params) || !slice_is(params, g->params))
        sim_fail(s, "job %lld should see %s: %s", (long long)g->id, g->params,
                 buf_text(&r->op.reply));
    if (jtext_find(item, "step", &step) != (g->step > 0) ||
        (g->step > 0 && (!jtext_find(step, "number", &number) || jtext_int(number) != g->step)))
        sim_fail(s, "job %lld is at step %d: %s", (long long)g->id, g->step,
                 buf_text(&r->op.reply));
}

static void check_jobs(const struct sim *s, const struct req *r)
{
    struct jtext_iter it = list_of(s, r, "jobs");

    for (size_t i = 0; i < r->want.n_grants; i++) {
        const struct grant *g = &r->want.grants[i];
        struct slice item, attempt, cursor;

        next_of(s, r, &it, &item, "jobs");
        if (reply_id(s, item, "id") != g->id)
            sim_fail(s, "job %lld should be granted at place %zu: %s", (long long)g->id, i,
                     buf_text(&r->op.reply));
        struct held lease = reply_lease(s, item);

        if (lease.token != r->want.token || lease.fence != g->fence)
            sim_fail(s,
                     "the lease of job %lld should have the token of its claim and fence %lld: %s",
                     (long long)g->id, (long long)g->fence, buf_text(&r->op.reply));
        if (!jtext_find(item, "attempt", &attempt) || jtext_int(attempt) != g->attempt)
            sim_fail(s, "attempt %d of job %lld is told otherwise: %s", g->attempt,
                     (long long)g->id, buf_text(&r->op.reply));
        if ((jtext_find(item, "cursor", &cursor) ? jtext_int(cursor) : 0) != g->cursor)
            sim_fail(s, "job %lld should get the cursor %lld: %s", (long long)g->id,
                     (long long)g->cursor, buf_text(&r->op.reply));
        check_step(s, r, g, item);
    }
    none_left(s, r, &it, "jobs");
}

static void check_logs(const struct sim *s, const struct req *r)
{
    struct jtext_iter it;
    struct slice list;

    if (!jtext_find(buf_slice(&r->op.reply), "logs", &list))
        list = SLICE("[]");
    it = jtext_items(list);
    for (size_t i = 0; i < r->want.n_logs; i++) {
        const struct log_end *end = &r->want.logs[i];
        struct slice item, size;

        next_of(s, r, &it, &item, "logs");
        if (!same_lease(reply_lease(s, item), end->lease) || !jtext_find(item, "size", &size) ||
            jtext_int(size) != end->size)
            sim_fail(s, "the log of job %lld ends at %lld: %s", (long long)end->lease.id,
                     (long long)end->size, buf_text(&r->op.reply));
    }
    none_left(s, r, &it, "logs");
}

/* Who works by other definitions learns the number of the current ones. */
static void check_definitions(const struct sim *s, const struct req *r)
{
    struct slice number;
    bool told = jtext_find(buf_slice(&r->op.reply), "definitions", &number);

    if (told != r->op.exchange.has_definitions ||
        (told && jtext_int(number) != s->model.definitions))
        sim_fail(s, "the definitions have number %lld: %s", (long long)s->model.definitions,
                 buf_text(&r->op.reply));
}

static void check_exchange(const struct sim *s, const struct req *r)
{
    struct err err = ERR_INIT;
    struct slice value;

    expect_code(s, r, r->want.code);
    if (!is_known(r) || r->want.code != E_OK)
        return;
    if (jtext_check(buf_slice(&r->op.reply), &value, &err) != E_OK)
        sim_fail(s, "the reply is no JSON: %s: %s", err.msg, buf_text(&r->op.reply));
    if (r->op.exchange.parts & EXCHANGE_RESULTS)
        check_results(s, r);
    if (r->op.exchange.parts & EXCHANGE_TOUCHED)
        check_touched(s, r);
    if (r->op.exchange.parts & EXCHANGE_JOBS)
        check_jobs(s, r);
    check_logs(s, r);
    check_definitions(s, r);
}

static void must_be_answered(const struct sim *s, const struct req *r, const char *why)
{
    if (!r->answered)
        sim_fail(s, "an op of kind %d is not answered though %s", (int)r->op.kind, why);
}

static void answer_waiting(struct sim *s)
{
    for (size_t i = 0; i < s->at->waiting.count; i++) {
        struct req *r = s->at->waiting.items[i];
        bool now = r->want.n_grants > 0 || r->deadline_at <= s->now.steady_at || has_untold(s, r) ||
                   names_gone_queue(s, r) || is_outdated(s, r) || r->sent_back;

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
    for (size_t i = 0; i < s->at->waits.count; i++) {
        struct req *r = s->at->waits.items[i];

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

    for (size_t i = 0; i < s->at->waiting.count; i++)
        n += s->at->waiting.items[i]->waits;
    for (size_t i = 0; i < s->at->waits.count; i++)
        n += s->at->waits.items[i]->waits;
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

/* The other claims of the same worker are answered, whatever they wait for. */
static void wake_others(struct sim *s, const struct req *r)
{
    for (size_t i = 0; i < s->at->waiting.count; i++) {
        struct req *other = s->at->waiting.items[i];

        if (!other->waits || other->worker != r->worker)
            continue;
        must_be_answered(s, other, "its worker woke it");
        tell_cancels(s, other);
        check_exchange(s, other);
        other->waits = false;
    }
}

static void answer_claim(struct sim *s, struct req *r)
{
    if (r->op.exchange.wake)
        wake_others(s, r);
    bool at_once = r->want.n_grants > 0 || r->want.hurry || has_untold(s, r);

    if (!at_once && may_wait(s, r, r->op.exchange.wait_us)) {
        VEC_PUSH(&s->at->waiting, r);
        return;
    }
    must_be_answered(s, r, "there is nothing to wait for");
    tell_cancels(s, r);
    check_exchange(s, r);
}

static void answer_wait(struct sim *s, struct req *r)
{
    if (target_lives(s, r) && may_wait(s, r, r->op.wait.wait_us)) {
        VEC_PUSH(&s->at->waits, r);
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
