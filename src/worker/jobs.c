/*
 * The way of a job through the worker: taken from a reply, started when a slot is free, handed back
 * when none gets free soon, forgotten when the server has its end.
 */
/* SPDX-License-Identifier: MIT */

#include "base/os/log.h"
#include "worker/carriers/carrier.h"
#include "worker/carriers/may_run.h"
#include "worker/carriers/resident.h"
#include "worker/internal.h"
#include "worker/process/stale_processes.h"

#define STALE_WAIT_US (2 * US_PER_S)
#define LATE_US (5 * SERVED_QUEUE_AHEAD_US)

void worker_slot_freed(struct task *t)
{
    struct served_queue *q = STEAL(t->served);

    if (t->state > TASK_WAITING)
        served_queue_note_time(q, worker_now(t->worker) - t->started_at);
    t->worker->running--;
    q->running--;
    served_queues_release(&t->worker->served, q);
}

/* Hands back the waiting jobs of a queue that is broken or was redefined. */
static void give_back_waiting(struct worker *w, const struct served_queue *q)
{
    struct task *next;

    for (struct task *t = w->queue; t != NULL; t = next) {
        next = t->after;
        if (t->served == q)
            task_stop(t, VERDICT_HANDBACK);
    }
}

static void not_started(struct task *t, enum carrier_blame blame, const struct err *why)
{
    struct worker *w = t->worker;
    struct served_queue *q = t->served;

    if (blame == BLAME_JOB) {
        t->facts.why = VERDICT_NO_START;
        t->facts.reason = arena_copy(&t->arena, slice_of(why->msg));
        worker_slot_freed(t);
        task_settle(t);
        return;
    }
    if (served_queue_mark_broken(q, why->msg, worker_now(w))) {
        log_warn("queue %s is broken here: %s", q->name, why->msg);
        w->talk.send_description = true;
        if (w->config.hooks.on_broken != NULL)
            w->config.hooks.on_broken(w->config.hooks.ctx, slice_of(q->name), why->msg);
    }
    give_back_waiting(w, q);
    worker_slot_freed(t);
    task_not_started(t, why->msg);
}

static void unlink_waiting(struct worker *w, struct task *t)
{
    struct task **at = &w->queue;

    while (*at != t)
        at = &(*at)->after;
    *at = t->after;
    if (w->queue_end == &t->after)
        w->queue_end = at;
    w->waiting--;
    t->served->waiting--;
}

void worker_unqueue(struct task *t)
{
    unlink_waiting(t->worker, t);
    served_queues_release(&t->worker->served, STEAL(t->served));
}

/* A job must not run twice at once: kills what is left of a lost attempt on this machine. */
static enum err_code end_earlier_run(struct task *t, struct err *err)
{
    if (t->lost_before == 0)
        return E_OK;
    struct stale_result stale = stale_processes_kill_job(
        t->worker->slots, &(struct stale_job){.id = t->id, .lease = t->lease, .url = t->url},
        STALE_WAIT_US);

    if (stale.ended > 0)
        log_info("job %.*s: ended %u process%s of an earlier run", (int)t->id.size, t->id.data,
                 stale.ended, stale.ended == 1 ? "" : "es");
    if (stale.stay > 0)
        return err_set(err, E_UNAVAILABLE, "an earlier run of job %.*s is still there",
                       (int)t->id.size, t->id.data);
    return E_OK;
}

/* The state is set before the carrier starts, because that may already stop the task. */
static enum err_code start(struct task *t, enum carrier_blame *ret_blame, struct err *err)
{
    if (end_earlier_run(t, err) != E_OK || may_run_job(t, ret_blame, err) != E_OK)
        return err->code;
    const struct queue_def *def = &t->served->def;
    int64_t timeout_us = t->timeout_us > 0 ? t->timeout_us : def->timeout_us;

    t->facts.timeout_us = timeout_us;
    t->facts.memory = t->plan.limits.memory;
    t->facts.strict = def->strict;
    t->timeout_at = timeout_us > 0 ? worker_now(t->worker) + timeout_us : TIME_NEVER;
    t->carrier = t->plan.carrier;
    t->state = TASK_RUNNING;
    if (t->carrier->start(t, ret_blame, err) != E_OK) {
        t->carrier = NULL;
        t->state = TASK_WAITING;
    }
    return err->code;
}

void worker_take_job(struct worker *w, struct slice json)
{
    struct task *t = task_new(w, json);

    if (t == NULL)
        return;
    if (t->served == NULL || w->state != WORKER_UP) {
        t->facts.why = VERDICT_HANDBACK;
        task_settle(t);
        return;
    }
    t->taken_at = worker_now(w);
    t->served->waiting++;
    w->waiting++;
    *w->queue_end = t;
    w->queue_end = &t->after;
    if (w->rate_at < t->taken_at - WORKER_RATE_LATE_US)
        w->rate_at = t->taken_at - WORKER_RATE_LATE_US;
    w->rate_at += w->rate_us;
}

static bool may_start(const struct worker *w, const struct task *t)
{
    int slots = t->served->def.slots;

    return w->running < w->config.slots && (slots == QUEUE_SLOTS_ALL || t->served->running < slots);
}

/* Hands back jobs that were claimed ahead and could not be started soon. */
static void give_back_late(struct worker *w, int64_t now)
{
    while (w->queue != NULL && now - w->queue->taken_at > LATE_US) {
        struct task *t = w->queue;

        served_queue_note_late(t->served);
        t->facts.why = VERDICT_HANDBACK;
        worker_unqueue(t);
        task_settle(t);
    }
    if (w->queue != NULL)
        worker_wake_at(w, w->queue->taken_at + LATE_US + 1);
}

void worker_start_waiting(struct worker *w)
{
    struct task *next;

    for (struct task *t = w->queue; t != NULL && w->running < w->config.slots; t = next) {
        next = t->after;
        if (!may_start(w, t))
            continue;
        unlink_waiting(w, t);
        t->served->running++;
        w->running++;
        t->started_at = worker_now(w);
        struct err err = ERR_INIT;
        enum carrier_blame blame = BLAME_QUEUE;

        if (start(t, &blame, &err) != E_OK) {
            not_started(t, blame, &err);
        } else if (t->plan.proves_queue && served_queue_mark_working(t->served)) {
            log_info("queue %s works again", t->served->name);
            t->worker->talk.send_description = true;
        }
        next = w->queue; /* a broken queue has removed others from the list */
    }
    give_back_late(w, worker_now(w));
}

static void tell_end(struct task *t, bool ended)
{
    const struct worker_hooks *hooks = &t->worker->config.hooks;

    if (hooks->on_end == NULL)
        return;
    hooks->on_end(hooks->ctx, &(struct worker_end){
                                  .id = t->id,
                                  .key = t->key,
                                  .params = t->params,
                                  .outcome = t->lost ? JOB_OUT_LOST : t->verdict.outcome,
                                  .ended = ended && !t->lost,
                                  .exited = t->verdict.exited,
                                  .exit = t->verdict.exit,
                                  .cause = t->verdict.cause,
                                  .text = slice_of(t->verdict.text),
                                  .output = output_text(t->output),
                                  .errors = output_errors(t->output),
                              });
}

void worker_task_done(struct task *t, bool job_ended)
{
    if (t->end_record != NULL)
        process_record_end(t->end_record);
    tell_end(t, job_ended);
    task_free(t);
}

void worker_queue_changed(struct worker *w, const struct served_queue_change *change)
{
    residents_retire(w, change->served);
    give_back_waiting(w, change->served);
    if (!change->restarted)
        return;
    log_info("queue %s is restarted", change->served->name);
    for (struct task *t = w->tasks; t != NULL; t = t->next)
        if (t->served == change->served)
            task_stop(t, VERDICT_HANDBACK);
}

void worker_set_rate(struct worker *w, int64_t starts, int64_t per_us)
{
    w->rate_us = starts > 0 ? per_us / starts : 0;
}
