/*
 * The end of a life: all work is done, all traces expire, nothing is left.
 */
/* SPDX-License-Identifier: MIT */
#include "sim.h"

enum { DRAIN_ROUNDS = 1500 };

#define IDLE_US (10 * US_PER_S) /* so long an idle server that shares its store is quiet at least */

static struct req *release(struct sim *s, int64_t id)
{
    struct req *r = client_nothing(s, OP_ACTION);

    r->op.action = (struct job_action){.kind = ACTION_RELEASE, .id = id};
    r->action = (struct model_act){.kind = ACTION_RELEASE, .label = -1, .now_at = s->now.wall_at};
    return r;
}

static bool any_ready(const struct sim *s)
{
    for (size_t i = 0; i < s->model.n_jobs; i++)
        if (s->model.jobs[i].state == JOB_READY)
            return true;
    return false;
}

static bool any_held(const struct sim *s, int64_t *ret_id)
{
    for (size_t i = 0; i < s->model.n_jobs; i++)
        if (s->model.jobs[i].state == JOB_HELD && s->model.jobs[i].held) {
            *ret_id = s->model.jobs[i].id;
            return true;
        }
    return false;
}

/* Somebody waits for nothing but signals: one of them is too low. */
static struct req *raise_signal(struct sim *s)
{
    for (size_t i = 0; i < s->model.n_jobs; i++) {
        const struct model_job *j = &s->model.jobs[i];

        for (int k = 0; k < j->routing.n_conds && j->state == JOB_HELD && model_is_ripe(j); k++) {
            const struct model_cond *c = &j->routing.conds[k];

            if (c->kind != AFTER_SIGNAL || s->model.links.signals[c->signal] >= c->count)
                continue;
            struct req *r = client_nothing(s, OP_SIGNAL);

            r->link = c->signal;
            r->op.signal = (struct signal_op){.kind = SIGNAL_OP_RAISE,
                                              .name = slice_of(model_signal_names[c->signal]),
                                              .count = c->count};
            return r;
        }
    }
    return NULL;
}

static bool all_ended(const struct sim *s)
{
    for (size_t i = 0; i < s->model.n_jobs; i++)
        if (!job_state_ended(s->model.jobs[i].state))
            return false;
    return s->model.n_work == 0 && s->model.n_emitters == 0 &&
           s->model.links.n_promised + s->model.links.n_notes == 0;
}

/* No queue leads anywhere any more: what is done makes nothing new, but for what jobs themselves
 * lead to. */
static struct req *unlink_queue(struct sim *s, int queue)
{
    struct req *r = client_nothing(s, OP_DEFINE);

    r->put_queue[0] = queue;
    r->put_def[0] = s->model.queues[queue].def;
    r->puts[0] = (struct definition_put){.name = slice_of(model_queue_names[queue]),
                                         .definition = slice_of(
                                             model_def_json(queue, r->put_def[0], 0))};
    r->op.define.puts[DEFINITION_QUEUE] = (struct definition_puts){r->puts, 1};
    return r;
}

static void finish_all(struct sim *s)
{
    struct req *r;
    int64_t id;

    for (int q = 0; q < MODEL_QUEUES; q++)
        if (s->model.queues[q].there)
            sim_run(s, unlink_queue(s, q));

    for (int q = 0; q < MODEL_QUEUES; q++)
        sim_run(s, client_set_state(s, q, QUEUE_UP));
    for (int i = 0; i < DRAIN_ROUNDS && !all_ended(s); i++) {
        s->step++;
        if (s->n_held[0] > 0)
            sim_run(s, client_finish_done(s, 0));
        else if (any_held(s, &id))
            sim_run(s, release(s, id));
        else if (any_ready(s))
            sim_run(s, client_claim_all(s, 0));
        else if ((r = raise_signal(s)) != NULL)
            sim_run(s, r);
        else
            /* Retries, other workers' leases, and instants from before which the clock was set back
             * by days. */
            world_advance(s, US_PER_HOUR);
        if (s->n_held[0] == 0)
            sim_run(s, NULL);
    }
    if (!all_ended(s))
        sim_fail(s, "work is left that nothing can end");
}

void sim_drain(struct sim *s)
{
    sim_say(s, "the end begins");
    s->n_held[0] = 0;
    if (s->n_servers > 1)
        sim_change_places(s, SIM_LEAVES);
    finish_all(s);
    world_advance(s,
                  400 * US_PER_DAY); /* more than the clock was ever set back, and all retention */
    for (int i = 0; i < 20 && s->model.n_jobs > 0; i++) {
        s->step++;
        world_advance(s, 2 * US_PER_MIN);
        sim_run(s, NULL);
    }
    sim_run(s, client_set_state(s, 0, QUEUE_PAUSE)); /* what goes with the next write goes */
    sim_run(s, client_set_state(s, MODEL_QUEUES - 1, QUEUE_PAUSE));
    check_store(s, CHECK_ALL);
    check_empty(s);
    world_advance(s, US_PER_MIN);
    sim_run(s, NULL);
    int64_t next_us = engine_next_us(s->at->engine, s->now);

    if (next_us < (s->shared ? IDLE_US : TIME_NEVER))
        sim_fail(s, "an idle engine wants to be woken in %lld us", (long long)next_us);
}
