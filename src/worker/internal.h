/*
 * The worker's state, and what its files call of each other.  Private to src/worker.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "worker/client/async_client.h"
#include "worker/filters/desk.h"
#include "worker/process/cgroup.h"
#include "worker/process/tree.h"
#include "worker/run/channel.h"
#include "worker/run/slot.h"
#include "worker/run/task.h"
#include "worker/talk/instance.h"
#include "worker/talk/served_queues.h"
#include "worker/talk/talk.h"
#include "worker/worker.h"

/* A start that the rate missed is made up for within this time; more would cause bursts. */
#define WORKER_RATE_LATE_US (10 * US_PER_MS)

enum worker_state {
    WORKER_UP,
    WORKER_STOPPING, /* claims no more jobs */
    WORKER_ENDING,   /* hands back running jobs */
    WORKER_STOPPED,
};

/* A job that an earlier worker of this name had started when it was killed: the server is told that
 * it was lost. */
struct lost_job {
    char *id, *lease;
};

struct worker {
    uv_loop_t *loop;
    struct worker_config config;
    const char *name;
    const char *host;
    const char *work_dir; /* or NULL */
    struct instance instance;

    enum worker_state state;
    struct async_client *client;
    struct talk talk;
    struct served_queues served;
    struct channels *channels;
    struct slots *slots;
    struct tree *tree;
    struct cgroup *cgroup; /* NULL: memory is limited by rlimits */
    struct task *tasks;
    size_t n_tasks;
    struct resident *residents;
    struct filter_desk filters;
    uint64_t residents_made;
    struct task *queue, **queue_end; /* tasks that wait for a slot, in the order they came */
    int waiting;                     /* how many */
    int running;                     /* tasks that hold a slot */
    VEC(struct lost_job) lost_jobs;

    /* The surroundings in which programs are started. */
    struct arena arena;
    char **environment;
    const char *path;
    mode_t mask;
    int64_t soft_files;

    int64_t rate_us; /* between two starts; 0: no limit */
    int64_t rate_at; /* steady: the next start */

    uv_prepare_t pump;
    uv_signal_t child_signal;
    uv_timer_t timer; /* for the next pass */
    int64_t wake_at;  /* steady: when the timer fires */
    int64_t end_at;   /* steady: the end of the grace period, or of everything */
    int handles;      /* open libuv handles that point to this struct */
};

/* The steady clock. */
int64_t worker_now(const struct worker *w);

/* The next pass of the loop comes at this instant of the steady clock at the latest. */
void worker_wake_at(struct worker *w, int64_t steady_at);

/* Takes a job of a claim's reply: it waits for a slot, or goes back. */
void worker_take_job(struct worker *w, struct slice json);

/* Starts waiting tasks while slots are free. */
void worker_start_waiting(struct worker *w);

/* Adds the worker's handles to the loop, and frees the worker when they are closed. */
void worker_enter_loop(struct worker *w);
void worker_deinit(struct worker *w);

/* A queue was redefined or restarted: returns or restarts its jobs. */
void worker_queue_changed(struct worker *w, const struct served_queue_change *change);

void worker_forget_lost_jobs(struct worker *w);

/* Removes a waiting task from the line for slots and from its queue. */
void worker_unqueue(struct task *t);

/* Takes the slot from a task, and the task from its queue. */
void worker_slot_freed(struct task *t);

/* The server has accepted the end of a task, or never will: frees the task. */
void worker_task_done(struct task *t, bool job_ended);
