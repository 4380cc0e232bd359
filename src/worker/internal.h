/*
 * What the worker's files share.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/clock.h"
#include "worker/client/async_client.h"
#include "worker/process/cgroup.h"
#include "worker/process/tree.h"
#include "worker/run/channel.h"
#include "worker/run/slot.h"
#include "worker/run/task.h"
#include "worker/talk/instance.h"
#include "worker/talk/served_queues.h"
#include "worker/talk/talk.h"
#include "worker/worker.h"

/* What a rate has missed is made up for when it is not longer ago: else bursts would follow a pause. */
#define WORKER_RATE_LATE_US (10 * US_PER_MS)

enum worker_state {
    WORKER_UP,
    WORKER_STOPPING, /* takes no more */
    WORKER_ENDING,   /* hands back what runs */
    WORKER_STOPPED,
};

/* A job that an earlier worker of this name had started when it was killed: the server is told that it was
 * lost. */
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
    uint64_t residents_made;
    struct task *queue, **queue_end; /* tasks that wait for a slot, in the order they came */
    int waiting;                     /* how many */
    int running;                     /* tasks that hold a slot */
    VEC(struct lost_job) lost_jobs;

    /* What programs are started with. */
    struct arena arena;
    char **environment;
    const char *path;
    mode_t mask;
    int64_t soft_files;

    int64_t rate_us; /* between two starts; 0: no limit */
    int64_t rate_at; /* steady: the next start */

    uv_prepare_t pump;
    uv_signal_t child_signal;
    uv_timer_t timer; /* the next instant that is known */
    int64_t wake_at;  /* steady: when the timer is to call */
    int64_t end_at;   /* steady: when the grace is over, or the ending must be */
    int handles;      /* of the loop, that hold this struct */
};

/* The steady clock. */
int64_t worker_now(const struct worker *w);

/* The loop is to pass by soon, at this instant of the steady clock or before. */
void worker_wake_at(struct worker *w, int64_t steady_at);

/* A job that was granted: it is started, or goes back. */
void worker_take_job(struct worker *w, struct slice json);

/* Starts what waits in memory and has room now. */
void worker_start_waiting(struct worker *w);

/* The beginning and the end of the loop's part in it. */
void worker_enter_loop(struct worker *w);
void worker_deinit(struct worker *w);

/* What runs for a queue is to be given back, or started anew. */
void worker_queue_changed(struct worker *w, const struct served_queue_change *change);

void worker_forget_lost_jobs(struct worker *w);

/* A task waits for no slot any more, and belongs to no queue. */
void worker_unqueue(struct task *t);

/* A task holds no slot any more. */
void worker_slot_freed(struct task *t);

/* The server has taken a task's end. */
void worker_task_done(struct task *t, bool job_ended);
