/*
 * A batch: the model does what the design says that the engine does, in the same order.
 *
 * Order: queues, emits, logs with finishes and touches, finishes, touches, what is due by itself
 * (leases, due jobs, chunked work, retention), staged jobs whose attempt has ended, logs, actions,
 * chunked work that is asked for, submits, what is published, arrivals, signals, where all that has
 * ended leads, claims (those who wait first).
 */
/* SPDX-License-Identifier: MIT */
#include "sim.h"
#include "store/jobs/logs.h"

#define REST_US US_PER_S /* after failed batches the engine does nothing by itself for so long */

/* ---- what is due by itself ---- */

static void send_back_claims(struct sim *s, int worker)
{
    for (size_t i = 0; i < s->at->waiting.count && worker < MODEL_WORKERS - 1; i++)
        if (s->at->waiting.items[i]->worker == worker &&
            s->at->waiting.items[i]->op.exchange.commands)
            s->at->waiting.items[i]->sent_back = true;
}

static void lose_leases(struct sim *s)
{
    struct model_end end = {.outcome = JOB_OUT_LOST, .now_at = s->now.wall_at};

    for (size_t i = 0; i < s->model.n_jobs; i++) {
        struct model_job *j = &s->model.jobs[i];

        if (j->state != JOB_RUNNING || j->lease_at > s->now.steady_at || j->server != sim_at(s))
            continue;
        send_back_claims(s, j->worker);
        model_end_attempt(&s->model, j, &end);
        j->note = NOTE_NONE;
    }
}

/* On a shared store what is due may be in another server's hands: nobody looks again at once. */
static bool may_stay(const struct sim *s, const struct model_job *j)
{
    const struct job *row = world_row(s, j->id);

    return s->shared && j->due_at > s->now.wall_at - SIM_DUE_PAUSE_US && row != NULL &&
           row->state == JOB_SCHEDULED;
}

static void wake_due(struct sim *s)
{
    for (size_t i = 0; i < s->model.n_jobs; i++) {
        struct model_job *j = &s->model.jobs[i];

        if (j->state != JOB_SCHEDULED || j->due_at > s->now.wall_at || may_stay(s, j))
            continue;
        if (!model_move(&s->model, j, JOB_EV_WAKE, JOB_READY))
            sim_fail(s, "a due job cannot become ready");
        j->due_at = j->due_max = j->delay_us = 0;
    }
}

/* When exactly retention comes is the engine's choice; that it takes nothing too early is not. */
static void follow_retention(struct sim *s)
{
    for (size_t i = s->model.n_jobs; i-- > 0;)
        if (model_expired(&s->model, &s->model.jobs[i], s->now.wall_at) &&
            world_row(s, s->model.jobs[i].id) == NULL)
            model_remove(&s->model, &s->model.jobs[i]);
}

static void judge_sweep(struct sim *s)
{
    lose_leases(s);
    wake_due(s);
    if (s->model.n_work > 0) {
        judge_follow(s);
        model_work_step(&s->model, s->now.wall_at);
    }
    follow_retention(s);
}

/* ---- the batch ---- */

static bool store_failed(const struct req *r)
{
    return is_known(r) && (r->op.err.code == E_FULL || r->op.err.code == E_UNAVAILABLE ||
                           r->op.err.code == E_INTERNAL);
}

typedef void judge_fn(struct sim *s, struct req *r);

static const struct {
    enum op_kind kind;
    judge_fn *judge;
} phases[] = {
    {OP_DEFINE, judge_define},     {OP_QUEUE, judge_queue},     {OP_EMIT, judge_emit},
    {OP_EXCHANGE, judge_exchange}, {OP_EXCHANGE, judge_finish}, {OP_EXCHANGE, judge_touch},
    {OP_LOG, judge_log},           {OP_ACTION, judge_act},      {OP_BULK, judge_bulk},
    {OP_SUBMIT, judge_submit},     {OP_PUBLISH, judge_publish}, {OP_JOIN, judge_join},
    {OP_SIGNAL, judge_signal},
};

enum sweeping { SWEEPS, RESTS };

static void judge_phases(struct sim *s, struct req **reqs, size_t n, enum sweeping sweeping)
{
    s->model.raised = false;
    judge_telling(s);
    for (size_t p = 0; p < sizeof(phases) / sizeof(phases[0]); p++) {
        if (phases[p].kind == OP_LOG && sweeping == SWEEPS)
            judge_sweep(s);
        if (phases[p].kind == OP_LOG)
            model_settle(&s->model, world_settle_rows(s), s->now.wall_at,
                         sweeping == SWEEPS ? MODEL_WORKS : MODEL_RESTS);
        if (phases[p].kind == OP_SUBMIT)
            judge_follow(s);
        for (size_t i = 0; i < n; i++)
            if (reqs[i]->op.kind == phases[p].kind && !s->no_evidence)
                phases[p].judge(s, reqs[i]);
    }
    if (!s->no_evidence)
        judge_links(s);
    judge_waiting_claims(s);
    for (size_t i = 0; i < n; i++)
        if (reqs[i]->op.kind == OP_EXCHANGE && !s->no_evidence)
            judge_claim(s, reqs[i]);
}

static void begin_batch(struct sim *s)
{
    for (size_t i = 0; i < s->model.n_jobs; i++)
        s->model.jobs[i].ended = false;
}

void judge_pause(struct sim *s)
{
    for (size_t i = 0; i < s->model.n_jobs; i++) {
        struct model_job *j = &s->model.jobs[i];

        if (j->state == JOB_RUNNING && j->server == sim_at(s) &&
            j->lease_at < s->now.steady_at + j->lease_us)
            j->lease_at = s->now.steady_at + j->lease_us;
    }
    name_renew(s);
}

/* Each for itself, in the order they came; nothing is done that was not asked for. */
static void judge_one_by_one(struct sim *s, struct req **reqs, size_t n)
{
    s->at->resume_at = s->now.steady_at + REST_US;
    s->one_by_one = true;
    judge_pause(s);
    for (size_t i = 0; i < n; i++) {
        if (store_failed(reqs[i]))
            continue;
        begin_batch(s);
        judge_phases(s, &reqs[i], 1, RESTS);
        judge_answers(s, &reqs[i], 1);
    }
    s->one_by_one = false;
    judge_links(s);
    judge_answers(s, NULL, 0);
}

static void drop_answered(struct sim *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->at->waiting.count; i++) {
        struct req *r = s->at->waiting.items[i];

        if (r->waits && r->answered)
            sim_fail(s, "a waiting claimer is answered though there is nothing to say: %s",
                     buf_text(&r->op.reply));
        if (r->waits)
            s->at->waiting.items[kept++] = r;
        else
            req_free(r);
    }
    s->at->waiting.count = kept;
    kept = 0;
    for (size_t i = 0; i < s->at->waits.count; i++) {
        struct req *r = s->at->waits.items[i];

        if (r->waits && r->answered)
            sim_fail(s, "who waits for job %lld is answered though it goes on",
                     (long long)r->op.wait.id);
        if (r->waits)
            s->at->waits.items[kept++] = r;
        else
            req_free(r);
    }
    s->at->waits.count = kept;
}

/* The last event of a job tells the state it is in. */
static void check_events(const struct sim *s)
{
    for (size_t i = s->events.count; i-- > 0;) {
        const struct event_seen *e = &s->events.items[i];
        const struct job *row = world_row(s, e->id);
        bool newer = false;

        for (size_t k = i + 1; k < s->events.count && !newer; k++)
            newer = s->events.items[k].id == e->id;
        if (!newer && row != NULL && row->state != e->state)
            sim_fail(s, "the last event of job %lld says %s, it is %s", (long long)e->id,
                     job_state_name(e->state), job_state_name(row->state));
    }
}

/* Both lists are in the order of ids. */
static void check_changes_were_told(const struct sim *s)
{
    size_t k = 0;

    for (size_t i = 0; i < s->rows.count; i++) {
        const struct job *row = &s->rows.items[i];

        while (k < s->before.count && s->before.items[k].id < row->id.v)
            k++;
        bool told = k < s->before.count && s->before.items[k].id == row->id.v &&
                    s->before.items[k].state == row->state;

        for (size_t e = 0; e < s->events.count && !told; e++)
            told = s->events.items[e].id == row->id.v;
        if (!told)
            sim_fail(s, "job %lld became %s and no event told it", (long long)row->id.v,
                     job_state_name(row->state));
    }
}

void judge_run(struct sim *s, struct req **reqs, size_t n)
{
    uint64_t rollbacks = atomic_load(&engine_get_stats(s->at->engine)->rollbacks);
    uint64_t failed = rollbacks - s->at->rollbacks;

    s->at->rollbacks = rollbacks;
    s->no_evidence = false;
    if (failed > 0 && !s->faulty)
        sim_fail(s, "a batch was rolled back though nothing was wrong with the disk");
    world_read(s);
    if (failed > 0 && !s->shared)
        name_renew(s); /* the engine has read it again */
    if (failed >= 2) {
        judge_one_by_one(s, reqs, n);
    } else {
        for (size_t i = 0; i < n; i++)
            if (store_failed(reqs[i]))
                sim_fail(s, "op of kind %d failed: %s", (int)reqs[i]->op.kind, reqs[i]->op.err.msg);
        begin_batch(s);
        judge_phases(s, reqs, n, s->now.steady_at >= s->at->resume_at ? SWEEPS : RESTS);
        judge_answers(s, reqs, n);
    }
    check_events(s);
    check_changes_were_told(s);
    for (size_t i = 0; i < n; i++)
        if (!reqs[i]->listed)
            req_free(reqs[i]);
    drop_answered(s);
}

/* ---- a process that died ---- */

/* Log text is no promise: what arrived is taken as it is, if it is what was sent. */
static void follow_log(struct sim *s, const struct log_append *l)
{
    struct model_job *j = model_find(&s->model, l->id);
    struct err err = ERR_INIT;
    int64_t size = 0;

    if (j == NULL)
        return;
    if (store_log_size(s->at->store, j->id, &size, &err) != E_OK)
        sim_fail(s, "%s", err.msg);
    if (size == l->offset + (int64_t)l->data.size)
        j->log_size = size;
}

static void follow_logs(struct sim *s, struct req **reqs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (reqs[i]->op.kind == OP_LOG)
            follow_log(s, &reqs[i]->op.log);
        for (size_t k = 0; k < reqs[i]->n_logs; k++)
            follow_log(s, &reqs[i]->logs[k]);
    }
}

void judge_crash(struct sim *s, struct req **reqs, size_t n)
{
    bool rested = s->now.steady_at < s->at->rested_until;
    bool promised = false;

    for (size_t i = 0; i < n; i++)
        promised = promised || is_known(reqs[i]);
    s->no_evidence = false;
    world_read(s);
    s->judging_crash = true;
    const char *undone = promised ? "it was answered" : check_difference(s);

    s->judging_crash = false;
    if (undone == NULL)
        (void)check_difference(s); /* takes note of delays that were bounded */
    if (undone != NULL) {
        char first[3000];

        snprintf(first, sizeof(first), "%s", undone);
        s->judging_crash = true;
        judge_phases(s, reqs, n, rested ? RESTS : SWEEPS);
        s->judging_crash = false;
        const char *done = s->no_evidence ? "a request left no trace" : check_difference(s);

        if (done != NULL)
            sim_fail(s, "after the crash the store is neither as before (%s) nor as after (%s)",
                     first, done);
    }
    follow_logs(s, reqs, n);
    for (size_t i = 0; i < n; i++)
        req_free(reqs[i]);
}
