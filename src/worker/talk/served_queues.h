/*
 * Offers: the queues that a worker serves, and how much of each it can take.
 *
 * They are made from what the server says its queues are (GET /v1/queues), with this worker's own file laid
 * over it.  An offer whose program cannot be started is broken: it takes nothing for a while, then one
 * job as a trial, with growing pauses in between.
 *
 * A subscription has a queue of its own, which the server names.  It runs what the own file says for the topic's
 * queue, else what the server says for that queue of its own; nobody else serves it.
 *
 * Offers stay where they are as long as a job in hand points to them; one whose queue is gone takes
 * nothing and is freed with its last job.
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
    char *json; /* the definition as it is used here */
    struct queue_def def;
    struct template_command command; /* when def has one */
    struct arena arena;              /* of both */
    struct spawn_user *user;         /* whom its programs run as, once that was found out */
    int64_t restarts;                /* how often people asked for a restart */
    bool gone;

    int running;  /* jobs in hand that have a slot */
    int waiting;  /* jobs in hand that are about to get one */
    int reserved; /* asked for by claims under way */

    char *broken;     /* why its program cannot be started here, or NULL */
    int64_t retry_at; /* steady: when the next trial is allowed */
    int64_t pause_us;

    int64_t took_us; /* how long its programs take, by the last few; 0: unknown */
};

/* What an update changed. */
struct served_queue_change {
    struct served_queue *served;
    bool restarted; /* people asked for a restart: running jobs are to go back */
    bool redefined;
};
typedef void served_queue_changed_fn(void *ctx, const struct served_queue_change *change);

struct subscription {
    const char *topic;
    char *queue;   /* NULL: the server has not taken it yet */
    bool missing;  /* the server does not have that queue any more */
    bool unserved; /* nothing says what to run there: said so in the log */
};

struct served_queues {
    VEC(struct served_queue *) items;
    VEC(char *) names;   /* of all queues, served here or not */
    VEC(char *) topics;  /* what they are subscribed to besides their names */
    int64_t definitions; /* the number that the server gave what we know */
    bool known;

    /* What the worker was told at its start. */
    const char *const *only;
    size_t n_only;
    const struct worker_own_queue *own;
    size_t n_own;
    bool own_only;
    struct subscription *subscriptions;
    size_t n_subscriptions;
};

void served_queues_deinit(struct served_queues *all);

/* Takes the server's answer.  Queues that cannot be read are passed over with a warning. */
MUST_CHECK enum err_code served_queues_update(struct served_queues *all, struct slice reply,
                                              served_queue_changed_fn *on_change, void *ctx,
                                              struct err *err);

struct served_queue *served_queues_find(const struct served_queues *all, struct slice name);

/* The subscription whose queue it is; NULL: none of ours. */
struct subscription *served_queues_subscription(const struct served_queues *all,
                                                struct slice queue);

/* The server has taken a subscription: this is its queue. */
void served_queues_subscribed(struct served_queues *all, size_t subscription, struct slice queue);

/* The server has that queue: it is missing for no subscription. */
void served_queues_found(struct served_queues *all, struct slice queue);

/* After an update: a subscription's queue is not among the server's. */
bool served_queues_lack_subscription(const struct served_queues *all);

/* Notes what a queue is subscribed to, by its definition or as a worker's own. */
void served_queues_note_topics(struct served_queues *all, struct slice definition,
                               struct arena *arena);

/* E_INVALID: nobody is subscribed to it. */
MUST_CHECK enum err_code served_queues_check_topic(const struct served_queues *all,
                                                   struct slice topic, struct err *err);

/*
 * How many jobs are worth having at hand beyond those that run: as many as will be started within
 * SERVED_QUEUE_AHEAD_US, as far as can be told.  Programs that take longer than that get none.
 */
#define SERVED_QUEUE_AHEAD_US INT64_C(20000)
int served_queue_ahead(const struct served_queue *q, int slots);

/* How many jobs it could take now, of `slots` that the worker has in all. */
int served_queue_capacity(const struct served_queue *q, int slots, int64_t steady_at);

/* A program took so long. */
void served_queue_note_time(struct served_queue *q, int64_t took_us);

/* Jobs at hand were not started in time: none is taken ahead for a while. */
void served_queue_note_late(struct served_queue *q);

/* A job has been given up: frees an offer that is gone and has none left. */
void served_queues_release(struct served_queues *all, struct served_queue *q);

/* True when that is news. */
bool served_queue_mark_broken(struct served_queue *q, const char *reason, int64_t steady_at);
bool served_queue_mark_working(struct served_queue *q);

/* Steady: when a broken offer can be tried again; TIME_NEVER. */
int64_t served_queues_next_trial(const struct served_queues *all, int64_t steady_at);
