/*
 * A request of the talk while it is under way, and what its reply means.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"

struct link_request;
struct offer;
struct task;
struct worker;

enum talk_kind { TALK_TELL, TALK_WAIT, TALK_LISTEN };

struct talk_room {
    struct offer *offer;
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
    struct link_request *call;
    enum talk_kind kind;
    bool all;      /* it says all that is held */
    bool wakes;    /* it calls back the one that waits */
    int max;       /* jobs that may be granted */
    size_t ghosts; /* told of before the finishes */
    VEC(struct task *) finishes;
    VEC(struct talk_touch) touches;
    VEC(struct talk_room) reserved;
};

/* Does what the reply says.  The request is out of all lists. */
MUST_CHECK enum err_code talk_read_reply(struct talk_request *r, struct slice text,
                                         struct err *err);

/* A task goes: requests under way forget it. */
void talk_forget(struct task *t);
