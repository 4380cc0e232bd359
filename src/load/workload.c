/*
 * What to ask for next.  The same for every protocol, so that contenders differ in nothing but
 * their protocol and themselves.
 *
 * submit:  one request after the other on each connection.
 * lives:   submit as many as are claimed; what was claimed is finished together with the next
 *          claim.  A protocol that pipelines gets submit, finish and claim in one go.  One that
 *          pushes has no rounds: what comes is finished at once and replaced, `batch` in flight.
 * latency: connection 0 waits in a claim, connection 1 submits one job; a short pause lets the
 *          server come to rest before the next round.
 */
/* SPDX-License-Identifier: MIT */
#include "load/load.h"

#include "base/clock.h"

#define LATENCY_WAIT_S 30
#define LATENCY_PAUSE_US (2 * US_PER_MS)

static void submit(struct load *l, struct load_conn *c, unsigned jobs)
{
    l->protocol->submit(c, jobs);
    c->submits += jobs;
    c->asked_at = l->now_at;
}

static void claim(struct load *l, struct load_conn *c, unsigned jobs, unsigned wait_s)
{
    c->finishes += l->protocol->claim(c, jobs, wait_s);
    c->claims += jobs;
    c->asked_at = l->now_at;
}

static void submit_next(struct load *l, struct load_conn *c)
{
    unsigned jobs = load_take(l, l->plan->batch);

    if (jobs == 0)
        load_idle(l, c);
    else
        submit(l, c, jobs);
}

static void submit_answered(struct load *l, struct load_conn *c, const struct load_events *e)
{
    load_count(l, e->submitted);
    if (c->submits > 0)
        return;
    load_time(l, c->asked_at);
    submit_next(l, c);
}

static void round_begin(struct load *l, struct load_conn *c)
{
    unsigned jobs = load_take(l, l->plan->batch);

    if (jobs == 0) {
        c->finishes = l->protocol->finish(c);
        if (c->finishes == 0)
            load_idle(l, c);
        return;
    }
    submit(l, c, jobs);
    if (l->protocol->pipelines)
        claim(l, c, jobs, 0);
    else
        c->cycle = jobs;
}

static void round_answered(struct load *l, struct load_conn *c, const struct load_events *e)
{
    load_count(l, e->finished);
    if (c->submits > 0 || c->claims > 0 || c->finishes > 0)
        return;
    load_time(l, c->asked_at);
    if (c->cycle > 0) {
        claim(l, c, c->cycle, 0);
        c->cycle = 0;
    } else {
        round_begin(l, c);
    }
}

/* There is no reply: a request is finished when it is sent. */
static unsigned finish_pushed(struct load *l, struct load_conn *c)
{
    unsigned jobs = l->protocol->finish(c);

    l->report->finished += jobs;
    return jobs;
}

static void window_fill(struct load *l, struct load_conn *c)
{
    int64_t used = c->in_flight > c->submits ? c->in_flight : c->submits;
    unsigned room = used < l->plan->batch ? (unsigned)(l->plan->batch - used) : 0;
    unsigned jobs = room > 0 ? load_take(l, room) : 0;

    if (jobs > 0) {
        submit(l, c, jobs);
        c->in_flight += jobs;
    } else if (load_over(l) && l->report->submitted == l->begun &&
               l->report->finished >= l->begun) {
        l->stopped = true;
    }
}

static void window_answered(struct load *l, struct load_conn *c, const struct load_events *e)
{
    if (e->claimed > 0) {
        unsigned jobs = finish_pushed(l, c);

        c->in_flight -= jobs;
        load_count(l, jobs);
    }
    window_fill(l, c);
}

/* Finishes what the claimer holds and lets it wait again; the next submit comes after a pause. */
static void latency_rest(struct load *l, struct load_conn *claimer)
{
    if (l->protocol->pushes)
        (void)finish_pushed(l, claimer);
    else
        claim(l, claimer, 1, LATENCY_WAIT_S);
    l->alarm_at = l->now_at + LATENCY_PAUSE_US;
}

/* A round is over when the job has been claimed and its submit answered, in any order. */
static void latency_answered(struct load *l, const struct load_events *e)
{
    struct load_conn *claimer = &l->conns[0];
    struct load_conn *submitter = &l->conns[1];

    if (e->unclaimed > 0 || (e->claimed > 0 && submitter->cycle == 0)) {
        latency_rest(l, claimer); /* nothing came, or what was in the queue before */
        return;
    }
    if (e->claimed > 0) {
        load_time(l, submitter->asked_at);
        load_count(l, 1);
        claimer->cycle = 1;
    }
    if (claimer->cycle == 0 || submitter->submits > 0)
        return;
    claimer->cycle = submitter->cycle = 0;
    latency_rest(l, claimer);
}

void load_workload_start(struct load *l, struct load_conn *c)
{
    switch (l->plan->kind) {
    case LOAD_SUBMIT: submit_next(l, c); return;
    case LOAD_LIVES:
        if (!l->protocol->pushes) {
            round_begin(l, c);
            return;
        }
        claim(l, c, l->plan->batch, 0);
        window_fill(l, c);
        return;
    case LOAD_LATENCY:
        if (c->index == 0)
            claim(l, c, 1, LATENCY_WAIT_S);
        else
            l->alarm_at = l->now_at + LATENCY_PAUSE_US;
        return;
    }
}

void load_workload_next(struct load *l, struct load_conn *c, const struct load_events *events)
{
    /* What a connection waits for, less what the answer has brought. */
    ASSERT(events->submitted <= c->submits);
    c->submits -= events->submitted;
    l->report->submitted += events->submitted;
    if (!l->protocol->pushes) {
        ASSERT(events->claimed + events->unclaimed <= c->claims && events->finished <= c->finishes);
        c->claims -= events->claimed + events->unclaimed;
        c->finishes -= events->finished;
        l->report->finished += events->finished;
    }
    switch (l->plan->kind) {
    case LOAD_SUBMIT: submit_answered(l, c, events); return;
    case LOAD_LIVES:
        if (!l->protocol->pushes) {
            round_answered(l, c, events);
            return;
        }
        window_answered(l, c, events);
        return;
    case LOAD_LATENCY: latency_answered(l, events); return;
    }
}

void load_workload_alarm(struct load *l)
{
    struct load_conn *submitter = &l->conns[1];

    if (load_take(l, 1) == 0) {
        l->stopped = true;
        return;
    }
    submit(l, submitter, 1);
    submitter->cycle = 1;
}
