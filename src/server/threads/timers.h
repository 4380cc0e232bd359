/*
 * Timers of the HTTP thread: few and far apart.
 *
 * `next_at` is never later than the earliest alarm; it may be earlier, which costs one look.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct timer {
    struct timer *next, *prev; /* NULL: not set */
    int64_t at;                /* by the monotonic clock */
    void (*fire)(struct timer *t);
};

struct timers {
    struct timer head;
    int64_t next_at;
};

void timers_init(struct timers *ts);

/* Sets it anew when it is set already.  `fire` is called once, with the timer no longer set. */
void timer_set(struct timers *ts, struct timer *t, int64_t at);
void timer_clear(struct timer *t); /* also when it is not set */

static inline bool timer_is_set(const struct timer *t)
{
    return t->next != NULL;
}

void timers_run(struct timers *ts, int64_t now_at);
