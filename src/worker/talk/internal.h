/*
 * What the files of talk/ share: a request under way, what goes into it (updates.c, capacity.c),
 * what its reply means (reply.c), subscriptions (subscribe.c).
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"

struct async_reply;
struct async_request;
struct served_queue;
struct task;
struct worker;

enum talk_kind { TALK_UPDATE, TALK_WAIT, TALK_LISTEN };

struct talk_reservation {
    struct served_queue *served;
    int count;
};

struct talk_touch {
    struct task *task; /* NULL: the task is gone */
    int64_t log_end;   /* of the piece of its log that was sent; -1: none */
    bool status;       /* its status was sent */
};

struct talk_request {
    struct worker *worker;
    struct talk_request *prev, *next;
    struct async_request *call;
    enum talk_kind kind;
    bool all;         /* it lists every job that the worker holds */
    bool wakes;       /* it makes the waiting request return */
    int max;          /* maximum jobs that the server may grant */
    size_t lost_jobs; /* how many of w->lost_jobs precede the finishes */
    VEC(struct task *) finishes;
    VEC(struct talk_touch) touches;
    VEC(struct talk_reservation) reserved;
};

/* Carries out what the reply says.  The request is in no list any more. */
MUST_CHECK enum err_code talk_read_reply(struct talk_request *r, struct slice text,
                                         struct err *err);

/* The server is unreachable or temporarily unavailable: sends nothing for a growing pause. */
void talk_pause(struct worker *w, const struct async_reply *reply, const struct err *why);

/* Sends the next subscription; false: all are sent, or it is not time yet. */
bool talk_subscribe(struct worker *w);

/* After an update of the served queues: if a subscription's queue is gone, subscribes again, a
 * little later. */
void talk_check_subscriptions(struct worker *w);

/* The task is freed: removes it from requests under way. */
void talk_forget(struct task *t);

/* ---- what it tells ---- */

/* Whether its finish can be sent now. */
bool talk_may_finish(const struct task *t);

/* Steady: when its status or log should be sent; perhaps in the past, or TIME_NEVER. */
int64_t talk_update_at(const struct task *t);

void talk_add_finishes(struct talk_request *r, struct buf *b);
void talk_add_touches(struct talk_request *r, struct buf *b, int64_t now);

/* ---- what it asks for ---- */

/* Slots without a job or a reservation; negative when more jobs are held than there are slots. */
int talk_free_slots(const struct worker *w);

/* True while at least half of the jobs worth claiming ahead are held: no more are claimed, and
 * finishes are sent in batches. */
bool talk_has_enough(const struct worker *w);

/* How many jobs can be claimed now. */
int talk_capacity(const struct worker *w);

/* There are more queues than one request may name: they are named in turns. */
bool talk_takes_turns(const struct worker *w);

/* Adds the queues with the maximum jobs of each, and reserves these. */
void talk_add_capacity(struct talk_request *r, struct buf *b, int room);

/* Adds the worker's identity, and its description when that is due. */
void talk_add_worker(struct worker *w, struct buf *b);
