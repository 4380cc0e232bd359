/*
 * What the files of the talk share: a request while it is under way, what goes into it (talk_tell.c,
 * talk_capacity.c), and what its reply means (talk_reply.c); subscriptions (talk_subscribe.c).
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
    struct task *task; /* NULL: it has ended since */
    int64_t log_end;   /* of what was sent of its log; -1: nothing */
    bool status;       /* its status was sent */
};

struct talk_request {
    struct worker *worker;
    struct talk_request *prev, *next;
    struct async_request *call;
    enum talk_kind kind;
    bool all;         /* it says all that is held */
    bool wakes;       /* it calls back the one that waits */
    int max;          /* jobs that may be granted */
    size_t lost_jobs; /* told of before the finishes */
    VEC(struct task *) finishes;
    VEC(struct talk_touch) touches;
    VEC(struct talk_reservation) reserved;
};

/* Does what the reply says.  The request is out of all lists. */
MUST_CHECK enum err_code talk_read_reply(struct talk_request *r, struct slice text,
                                         struct err *err);

/* The server is away, or cannot now: nothing is sent for a while. */
void talk_pause(struct worker *w, const struct async_reply *reply, const struct err *why);

/* Tells the server of the next topic; false: all are told, or it is not the time. */
bool talk_subscribe(struct worker *w);

/* After an update of the offers: topics whose queue is gone are told of again, a little later. */
void talk_check_subscriptions(struct worker *w);

/* A task goes: requests under way forget it. */
void talk_forget(struct task *t);

/* ---- what it tells ---- */

/* Whether its end can be told now. */
bool talk_may_finish(const struct task *t);

/* Steady: when its status or log is to be told; an instant that may have passed, or TIME_NEVER. */
int64_t talk_update_at(const struct task *t);

void talk_add_finishes(struct talk_request *r, struct buf *b);
void talk_add_touches(struct talk_request *r, struct buf *b, int64_t now);

/* ---- what it asks for ---- */

/* Slots for which there is neither a job nor one on its way; below 0, so many more jobs than slots. */
int talk_free_slots(const struct worker *w);

/* While half of what is worth having is at hand, nothing more is asked for, and ends are told in batches. */
bool talk_has_enough(const struct worker *w);

/* How many jobs can be asked for now. */
int talk_capacity(const struct worker *w);

/* There are more queues than a request may name. */
bool talk_takes_turns(const struct worker *w);

/* Adds the queues and how many of each, and reserves them. */
void talk_add_capacity(struct talk_request *r, struct buf *b, int room);

/* Adds who asks; with all about it when that is due. */
void talk_add_worker(struct worker *w, struct buf *b);
