/*
 * The life of a worker: passes of the loop, stopping, freeing.
 *
 * Events (replies, signals, pipes, timers) change tasks.  Before the loop waits again, `on_pass`
 * looks at all tasks and sends what is due, so that what happened together is sent together.
 */
/* SPDX-License-Identifier: MIT */
#include "worker/worker.h"

#include <signal.h>

#include "base/os/log.h"
#include "worker/carriers/carrier.h"
#include "worker/carriers/resident.h"
#include "worker/internal.h"

#define ENDING_US (2 * US_PER_S) /* from the end of the grace period to the end of everything */
#define SWEEP_ENTRIES 200
#define SWEEP_AGAIN_US (20 * US_PER_MS)

int64_t worker_now(const struct worker *w)
{
    (void)w;
    return clock_mono_us();
}

void worker_wake_at(struct worker *w, int64_t steady_at)
{
    if (steady_at < w->wake_at)
        w->wake_at = steady_at;
}

/* ---- passes ---- */

static void on_child(void *ctx, const struct tree_event *event)
{
    (void)ctx;
    event->job->on_event(event->job->owner, event);
}

static void ignore_child(void *ctx, const struct tree_event *event)
{
    (void)ctx;
    (void)event;
}

static void on_child_signal(uv_signal_t *handle, int number)
{
    struct worker *w = handle->data;

    (void)number;
    tree_reap(w->tree, on_child, w);
}

static void on_timer(uv_timer_t *timer)
{
    (void)timer; /* the pass that follows does the work */
}

static void look_at_tasks(struct worker *w)
{
    int64_t now = worker_now(w);
    struct task *next;

    for (struct task *t = w->tasks; t != NULL; t = next) {
        next = t->next;
        if (t->carrier == NULL) {
            task_send_emits(t);
            continue;
        }
        worker_wake_at(w, task_check_timeout(t, now));
        worker_wake_at(w, t->carrier->pass(t, now)); /* t may be gone */
    }
}

static void set_stopped(struct worker *w)
{
    w->state = WORKER_STOPPED;
    talk_deinit(w);
    if (w->config.hooks.on_stopped != NULL)
        w->config.hooks.on_stopped(w->config.hooks.ctx);
}

/* Waits for dying processes, within a limit: the next worker finds the rest by the registry. */
static void kill_all(struct worker *w)
{
    const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};

    for (int64_t until = worker_now(w) + ENDING_US;
         tree_end_all(w->tree) > 0 && worker_now(w) < until;) {
        nanosleep(&pause, NULL);
        tree_reap(w->tree, ignore_child, w);
    }
}

static void look_at_end(struct worker *w)
{
    if (w->state == WORKER_UP || w->state == WORKER_STOPPED)
        return;
    bool judged = filter_desk_end(w);

    if (talk_is_quiet(w) && residents_end(w) && judged && talk_leave(w)) {
        set_stopped(w);
        return;
    }
    /* An unreachable server alone does not justify the whole grace period. */
    if (w->n_tasks == 0 && w->end_at > worker_now(w) + ENDING_US)
        w->end_at = worker_now(w) + ENDING_US;
    worker_wake_at(w, w->end_at);
    if (worker_now(w) < w->end_at)
        return;
    if (w->state == WORKER_STOPPING) {
        worker_end_now(w);
        return;
    }
    if (w->n_tasks > 0)
        log_warn("%zu jobs could not be handed back: their leases run out", w->n_tasks);
    kill_all(w);
    set_stopped(w);
}

static void on_pass(uv_prepare_t *handle)
{
    struct worker *w = handle->data;

    if (w->state == WORKER_STOPPED)
        return;
    w->wake_at = TIME_NEVER;
    look_at_tasks(w);
    worker_start_waiting(w);
    for (struct task *t = w->tasks; t != NULL; t = t->next)
        if (t->carrier != NULL)
            task_send_emits(t);
    worker_wake_at(w, residents_pass(w, worker_now(w)));
    worker_wake_at(w, filter_desk_pass(w, worker_now(w)));
    talk_send(w);
    look_at_end(w);
    if (w->state == WORKER_STOPPED)
        return;
    slots_repair(w->slots, worker_now(w));
    if (slots_empty_trash(w->slots, SWEEP_ENTRIES))
        worker_wake_at(w, worker_now(w) + SWEEP_AGAIN_US);
    int64_t left = w->wake_at == TIME_NEVER ? -1 : w->wake_at - worker_now(w);

    if (w->wake_at == TIME_NEVER)
        uv_timer_stop(&w->timer);
    else
        uv_timer_start(&w->timer, on_timer, left <= 0 ? 0 : (uint64_t)(left / US_PER_MS + 1), 0);
}

/* ---- the end ---- */

void worker_stop(struct worker *w)
{
    if (w->state != WORKER_UP)
        return;
    w->state = WORKER_STOPPING;
    w->end_at = worker_now(w) + w->config.grace_us;
    while (w->queue != NULL)
        task_stop(w->queue, VERDICT_HANDBACK);
    if (w->running > 0)
        log_info("stopping: %d programs still run", w->running);
}

void worker_drain(struct worker *w)
{
    bool was_up = w->state == WORKER_UP;

    worker_stop(w);
    if (was_up)
        w->end_at = TIME_NEVER;
}

void worker_end_now(struct worker *w)
{
    if (w->state >= WORKER_ENDING)
        return;
    w->state = WORKER_ENDING;
    w->end_at = worker_now(w) + ENDING_US;
    if (w->running > 0)
        log_info("handing back %d jobs", w->running);
    for (struct task *t = w->tasks; t != NULL; t = t->next)
        task_stop(t, VERDICT_HANDBACK);
}

void worker_abandon(struct worker *w)
{
    if (w->state == WORKER_STOPPED)
        return;
    /* Records the running tasks as lost, for the next worker, as if this one had been killed. */
    for (struct task *t = w->tasks; t != NULL; t = t->next)
        if (t->state != TASK_WAITING && !t->lost && t->end_record == NULL)
            t->end_record = slots_note_end(w->slots, t->id, t->lease);
    kill_all(w);
    set_stopped(w);
}

void worker_forget_lost_jobs(struct worker *w)
{
    for (size_t i = 0; i < w->lost_jobs.count; i++) {
        free(w->lost_jobs.items[i].id);
        free(w->lost_jobs.items[i].lease);
    }
    VEC_CLEAR(&w->lost_jobs);
}

void worker_deinit(struct worker *w)
{
    worker_forget_lost_jobs(w);
    VEC_DEINIT(&w->lost_jobs);
    served_queues_deinit(&w->served);
    tree_free(w->tree);
    cgroup_close(w->cgroup);
    slots_close(w->slots);
    arena_deinit(&w->arena);
    free(w);
}

static void on_closed(uv_handle_t *handle)
{
    struct worker *w = handle->data;

    if (--w->handles == 0)
        worker_deinit(w);
}

void worker_free(struct worker *w)
{
    if (w == NULL)
        return;
    while (w->tasks != NULL) {
        struct task *t = w->tasks;

        if (t->carrier != NULL)
            t->carrier->release(t);
        t->carrier = NULL;
        task_free(t);
    }
    residents_abandon(w);
    filter_desk_deinit(w);
    channels_close(w->channels);
    async_client_free(w->client);
    w->client = NULL;
    uv_close((uv_handle_t *)&w->pump, on_closed);
    uv_close((uv_handle_t *)&w->child_signal, on_closed);
    uv_close((uv_handle_t *)&w->timer, on_closed);
}

/* ---- the loop ---- */

void worker_enter_loop(struct worker *w)
{
    uv_prepare_init(w->loop, &w->pump);
    uv_signal_init(w->loop, &w->child_signal);
    uv_timer_init(w->loop, &w->timer);
    w->pump.data = w->child_signal.data = w->timer.data = w;
    w->handles = 3;
    uv_prepare_start(&w->pump, on_pass);
    uv_signal_start(&w->child_signal, on_child_signal, SIGCHLD);
}
