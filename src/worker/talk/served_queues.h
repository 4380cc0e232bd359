/*
 * The queues that a worker serves, and how many jobs of each it can take.
 *
 * They come from the server (GET /v1/queues), with the definitions of the worker's own file in
 * place of the server's (may_run.h).  A queue whose program cannot be started is broken: it takes
 * nothing for a while, then one job as a trial, with growing pauses.
 *
 * A subscription has its own queue, named by the server and served by this worker alone.  It runs
 * the command that the own file has for the topic, else the one the server has for that queue.
 *
 * A served queue is not moved while a task points to it.  When the queue is gone at the server, it
 * takes no jobs and is freed with its last task.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"
#include "core/program/template.h"
#include "core/queue/def.h"
#include "worker/process/spawn.h"
#include "worker/worker.h"

struct served_queue {
    char *name;
    char *json; /* the definition in use here */
    struct queue_def def;
    struct template_command command; /* when def has one */
    struct arena arena;              /* of def and command */
    struct spawn_user *user;         /* limits.user, once it was looked up */
    int64_t restarts;                /* number of `queue restart`s */
    bool gone;

    int running;  /* tasks that have a slot */
    int waiting;  /* tasks that wait for one */
    int reserved; /* reserved by claims under way */

    char *broken;     /* why its program cannot be started here; NULL: it works */
    int64_t retry_at; /* steady: the next trial */
    int64_t pause_us;

    int64_t took_us; /* how long its programs run, averaged; 0: unknown */
};

/* What an update changed. */
struct served_queue_change {
    struct served_queue *served;
    bool restarted; /* `queue restart`: running jobs are handed back */
    bool redefined;
};
typedef void served_queue_changed_fn(void *ctx, const struct served_queue_change *change);

struct subscription {
    const char *topic;
    char *queue;   /* NULL: not subscribed yet */
    bool missing;  /* the queue is gone at the server */
    bool unserved; /* there is no command for it: this was logged */
};

struct served_queues {
    VEC(struct served_queue *) items;
    VEC(char *) names;   /* of all queues of the server */
    VEC(char *) topics;  /* topics that queues are subscribed to */
    int64_t definitions; /* the server's number of the definitions read */
    bool known;

    /* From the worker's configuration. */
    const char *const *only;
    size_t n_only;
    bool *only_unserved; /* for each of `only`: not served now, which was logged; or NULL */
    const struct worker_own_queue *own;
    size_t n_own;
    bool own_only;
    struct subscription *subscriptions;
    size_t n_subscriptions;
};

void served_queues_deinit(struct served_queues *all);

/* Takes the server's reply.  Queues that cannot be read are skipped with a warning. */
MUST_CHECK enum err_code served_queues_update(struct served_queues *all, struct slice reply,
                                              served_queue_changed_fn *on_change, void *ctx,
                                              struct err *err);

struct served_queue *served_queues_find(const struct served_queues *all, struct slice name);

/* The subscription that has this queue; NULL: none. */
struct subscription *served_queues_subscription(const struct served_queues *all,
                                                struct slice queue);

/* The server has accepted a subscription: this is its queue. */
void served_queues_subscribed(struct served_queues *all, size_t subscription, struct slice queue);

/* The server has that queue: no subscription misses it. */
void served_queues_found(struct served_queues *all, struct slice queue);

/* After an update: the queue of a subscription is gone at the server. */
bool served_queues_lack_subscription(const struct served_queues *all);

/* Notes the topics of a queue's definition: those it subscribes to, and that of a subscriber's
 * queue. */
void served_queues_note_topics(struct served_queues *all, struct slice definition,
                               struct arena *arena);

/* E_INVALID: the topic has no subscribers. */
MUST_CHECK enum err_code served_queues_check_topic(const struct served_queues *all,
                                                   struct slice topic, struct err *err);

/*
 * How many jobs are worth claiming beyond those that run: as many as will probably start within
 * SERVED_QUEUE_AHEAD_US.  None for programs that run longer than that.
 */
#define SERVED_QUEUE_AHEAD_US INT64_C(20000)
int served_queue_ahead(const struct served_queue *q, int slots);

/* How many jobs it can take now; `slots`: those of the worker in all. */
int served_queue_capacity(const struct served_queue *q, int slots, int64_t steady_at);

/* One of its programs ran for that long. */
void served_queue_note_time(struct served_queue *q, int64_t took_us);

/* Claimed jobs were not started in time: claims none ahead for a while. */
void served_queue_note_late(struct served_queue *q);

/* A task or reservation is gone: frees the queue if it was the last one and the queue is gone. */
void served_queues_release(struct served_queues *all, struct served_queue *q);

/* Both return true when the state or its reason has changed. */
bool served_queue_mark_broken(struct served_queue *q, const char *reason, int64_t steady_at);
bool served_queue_mark_working(struct served_queue *q);

/* Steady: when the next broken queue can be tried; TIME_NEVER: there is none. */
int64_t served_queues_next_trial(const struct served_queues *all, int64_t steady_at);
