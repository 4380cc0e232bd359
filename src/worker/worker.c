/*
 * The worker's life: what it takes, how it is woken, how it ends.
 *
 * Everything happens in passes of the loop: events (replies, signals, pipes, timers) change tasks, and before
 * the loop waits again `on_pass` looks at all of them and sends what is to be sent.
 */
/* SPDX-License-Identifier: MIT */
#include "worker/worker.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "worker/carrier.h"
#include "worker/client_url.h"
#include "worker/environment.h"
#include "worker/leftover.h"
#include "worker/program.h"
#include "worker/resident.h"
#include "worker/worker_internal.h"

#define LEFTOVER_WAIT_US (5 * US_PER_S)
#define ENDING_US (2 * US_PER_S) /* from the end of the grace to the end of everything */
#define LATE_US (5 * OFFER_AHEAD_US)
#define FILES_A_SLOT 8
#define FILES_SPARE 40
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

/* ---- jobs come and go ---- */

void worker_slot_freed(struct task *t)
{
    struct offer *f = STEAL(t->offer);

    if (t->state > TASK_WAITING)
        offer_note_time(f, worker_now(t->worker) - t->started_at);
    t->worker->running--;
    f->running--;
    offers_put_back(&t->worker->offers, f);
}

/* A queue's jobs that wait go back: its program cannot be started, or it is another one now. */
static void give_back_waiting(struct worker *w, const struct offer *f)
{
    struct task *next;

    for (struct task *t = w->queue; t != NULL; t = next) {
        next = t->after;
        if (t->offer == f)
            task_stop(t, VERDICT_HANDBACK);
    }
}

static void not_started(struct task *t, bool own, const struct err *why)
{
    struct worker *w = t->worker;
    struct offer *f = t->offer;

    if (own) {
        t->facts.why = VERDICT_NO_START;
        t->facts.reason = arena_copy(&t->arena, slice_of(why->msg));
        worker_slot_freed(t);
        task_settle(t);
        return;
    }
    if (offer_break(f, why->msg, worker_now(w))) {
        log_warn("queue %s is broken here: %s", f->name, why->msg);
        w->talk.describe = true;
        if (w->config.hooks.on_broken != NULL)
            w->config.hooks.on_broken(w->config.hooks.ctx, slice_of(f->name), why->msg);
    }
    give_back_waiting(w, f);
    worker_slot_freed(t);
    task_unstarted(t, why->msg);
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
    t->offer->waiting--;
}

void worker_unqueue(struct task *t)
{
    unlink_waiting(t->worker, t);
    offers_put_back(&t->worker->offers, STEAL(t->offer));
}

static void start(struct task *t)
{
    struct worker *w = t->worker;
    struct err err = ERR_INIT;
    bool own = false;
    bool resident = t->offer->def.resident && t->command.size == 0;
    enum err_code code = resident ? resident_start(t, &own, &err) : program_start(t, &own, &err);

    if (code != E_OK) {
        not_started(t, own, &err);
        return;
    }
    bool is_queues = t->command.size == 0 || t->offer->def.command.size == 0;

    if (!resident && is_queues && offer_mend(t->offer)) {
        log_info("queue %s works again", t->offer->name);
        w->talk.describe = true;
    }
}

void worker_take_job(struct worker *w, struct slice json)
{
    struct task *t = task_new(w, json);

    if (t == NULL)
        return;
    if (t->offer == NULL || w->state != WORKER_UP) {
        t->facts.why = VERDICT_HANDBACK;
        task_settle(t);
        return;
    }
    t->taken_at = worker_now(w);
    t->offer->waiting++;
    w->waiting++;
    *w->queue_end = t;
    w->queue_end = &t->after;
    if (w->rate_at < t->taken_at - WORKER_RATE_LATE_US)
        w->rate_at = t->taken_at - WORKER_RATE_LATE_US;
    w->rate_at += w->rate_us;
}

static bool may_start(const struct worker *w, const struct task *t)
{
    int slots = t->offer->def.slots;

    return w->running < w->config.slots && (slots == QUEUE_SLOTS_ALL || t->offer->running < slots);
}

/* What was taken ahead and cannot be started soon goes back. */
static void give_back_late(struct worker *w, int64_t now)
{
    while (w->queue != NULL && now - w->queue->taken_at > LATE_US) {
        struct task *t = w->queue;

        offer_note_late(t->offer);
        t->facts.why = VERDICT_HANDBACK;
        worker_unqueue(t);
        task_settle(t);
    }
    if (w->queue != NULL)
        worker_wake_at(w, w->queue->taken_at + LATE_US + 1);
}

static void start_waiting(struct worker *w)
{
    struct task *next;

    for (struct task *t = w->queue; t != NULL && w->running < w->config.slots; t = next) {
        next = t->after;
        if (!may_start(w, t))
            continue;
        unlink_waiting(w, t);
        t->offer->running++;
        w->running++;
        t->started_at = worker_now(w);
        start(t);
        next = w->queue; /* one that cannot be started takes others of its queue with it */
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
                              });
}

void worker_task_done(struct task *t, bool job_ended)
{
    if (t->end_record != NULL)
        record_end(t->end_record);
    tell_end(t, job_ended);
    task_free(t);
}

void worker_offer_changed(struct worker *w, const struct offer_change *change)
{
    residents_retire(w, change->offer);
    give_back_waiting(w, change->offer);
    if (!change->restarted)
        return;
    log_info("queue %s is restarted", change->offer->name);
    for (struct task *t = w->tasks; t != NULL; t = t->next)
        if (t->offer == change->offer)
            task_stop(t, VERDICT_HANDBACK);
}

void worker_set_rate(struct worker *w, int64_t starts, int64_t per_us)
{
    w->rate_us = starts > 0 ? per_us / starts : 0;
}

/* ---- passes ---- */

static void on_child(void *ctx, const struct tree_event *event)
{
    struct carrier *c = event->job->owner;

    (void)ctx;
    c->ops->event(c, event);
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
    (void)timer; /* the pass that follows looks at everything */
}

static void look_at_tasks(struct worker *w)
{
    int64_t now = worker_now(w);
    struct task *next;

    for (struct task *t = w->tasks; t != NULL; t = next) {
        next = t->next;
        if (t->carrier != NULL)
            worker_wake_at(w, t->carrier->ops->pass(t->carrier, now));
        else
            task_pump(t);
    }
}

static void pump_emits(struct worker *w)
{
    for (struct task *t = w->tasks; t != NULL; t = t->next)
        if (t->carrier != NULL)
            task_pump(t);
}

static void set_stopped(struct worker *w)
{
    w->state = WORKER_STOPPED;
    talk_deinit(w);
    if (w->config.hooks.on_stopped != NULL)
        w->config.hooks.on_stopped(w->config.hooks.ctx);
}

/* Dying processes are waited for, but not for ever: the records tell the next worker of the rest. */
static void kill_all(struct worker *w)
{
    const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};

    for (int64_t until = worker_now(w) + ENDING_US;
         tree_end_all(w->tree) > 0 && worker_now(w) < until;) {
        nanosleep(&pause, NULL);
        tree_reap(w->tree, ignore_child, w);
    }
}

/* Programs are gone or going; what could not be told stays untold. */
static void give_up(struct worker *w)
{
    if (w->n_tasks > 0)
        log_warn("%zu jobs could not be handed back: their leases run out", w->n_tasks);
    kill_all(w);
    set_stopped(w);
}

static void look_at_end(struct worker *w)
{
    if (w->state == WORKER_UP || w->state == WORKER_STOPPED)
        return;
    if (talk_is_quiet(w) && residents_end(w)) {
        set_stopped(w);
        return;
    }
    if (w->n_tasks == 0 && w->end_at > worker_now(w) + ENDING_US)
        w->end_at = worker_now(w) + ENDING_US; /* the server alone is not waited for that long */
    worker_wake_at(w, w->end_at);
    if (worker_now(w) < w->end_at)
        return;
    if (w->state == WORKER_STOPPING)
        worker_end_now(w);
    else
        give_up(w);
}

static void set_timer(struct worker *w)
{
    int64_t left = w->wake_at == TIME_NEVER ? -1 : w->wake_at - worker_now(w);

    if (w->wake_at == TIME_NEVER)
        uv_timer_stop(&w->timer);
    else
        uv_timer_start(&w->timer, on_timer, left <= 0 ? 0 : (uint64_t)(left / US_PER_MS + 1), 0);
}

static void on_pass(uv_prepare_t *handle)
{
    struct worker *w = handle->data;

    if (w->state == WORKER_STOPPED)
        return;
    w->wake_at = TIME_NEVER;
    look_at_tasks(w);
    start_waiting(w);
    pump_emits(w);
    worker_wake_at(w, residents_pass(w, worker_now(w)));
    talk_pump(w);
    look_at_end(w);
    if (w->state == WORKER_STOPPED)
        return;
    if (slots_sweep(w->slots, SWEEP_ENTRIES))
        worker_wake_at(w, worker_now(w) + SWEEP_AGAIN_US);
    set_timer(w);
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
    kill_all(w);
    set_stopped(w);
}

void worker_forget_ghosts(struct worker *w)
{
    for (size_t i = 0; i < w->ghosts.count; i++) {
        free(w->ghosts.items[i].id);
        free(w->ghosts.items[i].lease);
    }
    VEC_CLEAR(&w->ghosts);
}

static void worker_deinit(struct worker *w)
{
    worker_forget_ghosts(w);
    VEC_DEINIT(&w->ghosts);
    offers_deinit(&w->offers);
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
        if (w->tasks->carrier != NULL)
            w->tasks->carrier->ops->abandon(w->tasks->carrier);
        task_free(w->tasks);
    }
    residents_abandon(w);
    channels_close(w->channels);
    link_free(w->link);
    w->link = NULL;
    uv_close((uv_handle_t *)&w->pump, on_closed);
    uv_close((uv_handle_t *)&w->child_signal, on_closed);
    uv_close((uv_handle_t *)&w->timer, on_closed);
}

/* ---- the beginning ---- */

static const char *keep_text(struct worker *w, const char *text)
{
    return text == NULL ? NULL : arena_strdup(&w->arena, slice_of(text));
}

static void keep_config(struct worker *w, const struct worker_config *config)
{
    struct worker_config *c = &w->config;
    const char **only = arena_array(&w->arena, config->n_queues + 1, sizeof(char *));
    struct worker_own_queue *own = arena_array(&w->arena, config->n_own + 1, sizeof(*own));

    *c = *config;
    for (size_t i = 0; i < config->n_queues; i++)
        only[i] = keep_text(w, config->queues[i]);
    for (size_t i = 0; i < config->n_own; i++)
        own[i] = (struct worker_own_queue){arena_copy(&w->arena, config->own[i].name),
                                           arena_copy(&w->arena, config->own[i].definition)};
    c->queues = only;
    c->own = own;
    w->offers.only = only;
    w->offers.n_only = c->n_queues;
    w->offers.own = own;
    w->offers.n_own = c->n_own;
    w->offers.own_only = c->own_only;
    w->work_dir = keep_text(w, config->work_dir);
    if (c->slots <= 0)
        c->slots = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (c->slots > SLOT_COUNT_MAX / 3)
        c->slots = SLOT_COUNT_MAX / 3;
    c->lease_us = c->lease_us > 0 ? c->lease_us : WORKER_LEASE_US;
}

static void find_names(struct worker *w, const char *name)
{
    char host[HOST_NAME_MAX + 1] = "localhost";

    gethostname(host, sizeof(host) - 1);
    w->host = keep_text(w, host);
    w->name = keep_text(w, name != NULL ? name : host);
}

static enum err_code check_name(const char *name, struct err *err)
{
    if (queue_name_check(slice_of(name), err) != E_OK)
        return err_wrap(err, "the worker's name '%s'", name);
    return E_OK;
}

/* Each program takes pipes, and its slot keeps a directory and files. */
static void limit_slots(struct worker *w, rlim_t files)
{
    rlim_t most = files > FILES_SPARE + FILES_A_SLOT ? (files - FILES_SPARE) / FILES_A_SLOT : 1;

    if ((rlim_t)w->config.slots <= most)
        return;
    log_warn("%d slots are wanted, but %llu open files allow for %llu: raise 'ulimit -n'",
             w->config.slots, (unsigned long long)files, (unsigned long long)most);
    w->config.slots = (int)most;
}

/* What programs are started with is what the worker itself was started with. */
static void note_surroundings(struct worker *w)
{
    struct rlimit files;

    w->environment = environment_base(&w->arena);
    w->path = keep_text(w, getenv("PATH")); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    w->mask = umask(0);
    umask(w->mask);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        w->soft_files = (int64_t)files.rlim_cur;
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
        limit_slots(w, files.rlim_max);
    }
    signal(SIGPIPE, SIG_IGN);
}

static void note_ghosts(struct worker *w)
{
    const struct records *records = slots_records(w->slots);

    for (unsigned i = 0; i < records->count; i++) {
        const struct slot_record *r = records_at(records, i);

        if (r->process.pid != 0 && r->job[0] != '\0')
            VEC_PUSH(&w->ghosts, ((struct ghost){mem_strdup(r->job), mem_strdup(r->lease)}));
    }
}

static enum err_code open_state(struct worker *w, struct err *err)
{
    CLEANUP(mem) char *data_dir = NULL;
    CLEANUP(buf) struct buf dir = BUF_INIT(4096);

    if (client_data_dir(w->config.data_dir, &data_dir, err) != E_OK)
        return err->code;
    buf_addf(&dir, "%s/workers/%s", data_dir, w->name);
    if (dir.overflowed)
        return err_set(err, E_INVALID, "the data directory's name is too long");
    unsigned slots = (unsigned)w->config.slots * 3; /* running, resident, being ended */

    if (slots_open(buf_text(&dir), slots, &w->slots, err) != E_OK)
        return err->code;
    note_ghosts(w);
    struct leftover left = leftover_end(w->slots, LEFTOVER_WAIT_US);

    if (left.ended > 0)
        log_info("ended %u processes that an earlier worker left", left.ended);
    if (left.stay > 0)
        log_warn("%u processes that an earlier worker left cannot be ended", left.stay);
    return tree_new(&w->tree, err);
}

static void open_cgroup(struct worker *w)
{
    struct err err = ERR_INIT;

    if (cgroup_open(NULL, w->name, &w->cgroup, &err) != E_OK)
        log_debug("%s; memory is limited by rlimits", err.msg);
}

static void enter_loop(struct worker *w)
{
    uv_prepare_init(w->loop, &w->pump);
    uv_signal_init(w->loop, &w->child_signal);
    uv_timer_init(w->loop, &w->timer);
    w->pump.data = w->child_signal.data = w->timer.data = w;
    w->handles = 3;
    uv_prepare_start(&w->pump, on_pass);
    uv_signal_start(&w->child_signal, on_child_signal, SIGCHLD);
}

enum err_code worker_new(uv_loop_t *loop, const struct worker_config *config,
                         struct worker **ret_worker, struct err *err)
{
    struct worker *w = mem_zalloc(sizeof(*w));

    w->loop = loop;
    w->queue_end = &w->queue;
    keep_config(w, config);
    find_names(w, config->name);
    note_surroundings(w);
    talk_init(w);
    if (check_name(w->name, err) != E_OK || open_state(w, err) != E_OK ||
        channels_open(loop, &w->channels, err) != E_OK ||
        link_new(loop, &w->config.client, &w->link, err) != E_OK) {
        channels_close(w->channels);
        worker_deinit(w);
        return err->code;
    }
    open_cgroup(w);
    enter_loop(w);
    *ret_worker = w;
    return E_OK;
}
