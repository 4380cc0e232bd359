/*
 * One look at a machine: what has ended, what is left, and whether anything of it can go on.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/vec.h"
#include "run/machine.h"

struct look_queue {
    const char *name; /* in `counts` */
    int64_t done, failed, cancelled, dropped, live;
};

/* Why jobs wait, for as many as there are of that reason. */
struct look_wait {
    char *text;
    int64_t n;
    int64_t until_at;    /* 0: nobody knows */
    bool goes_by_itself; /* it only waits for a worker or the server */
};

struct look {
    json_t *counts;             /* see machine_counts */
    struct client_reply groups; /* open ones */
    VEC(struct look_queue) queues;
    VEC(struct look_wait) waits;

    int64_t done, failed, cancelled, dropped; /* in this run */
    int64_t waiting, running;
    int64_t open_groups;
    bool unsealed; /* one of them ends only when somebody seals it */
};

#define LOOK_INIT ((struct look){.groups = CLIENT_REPLY_INIT})

void look_deinit(struct look *l);
static inline void look_cleanup(struct look *l)
{
    look_deinit(l);
}

/* The counts, and the open groups.  `l` is empty before. */
MUST_CHECK enum err_code look_take(struct look *l, const struct machine *m, struct err *err);

/* Adds why jobs wait, the earliest instant first. */
MUST_CHECK enum err_code look_add_waits(struct look *l, const struct machine *m, struct err *err);

/* Keeps what an earlier look knew of them. */
void look_move_waits(struct look *to, struct look *from);

enum look_verdict {
    LOOK_DONE,    /* nothing is left */
    LOOK_MOVES,   /* something runs, or will at once */
    LOOK_WAITS,   /* all that is left waits for an instant that is known */
    LOOK_IS_STUCK /* nothing that is left can go on by itself */
};

/* By the waits, if anything is left and nothing runs.  Pure. */
enum look_verdict look_judge(const struct look *l);

/* When the first job that waits for an instant can go on; 0: none does. */
int64_t look_next_at(const struct look *l);

static inline int64_t look_left(const struct look *l)
{
    return l->waiting + l->running;
}
