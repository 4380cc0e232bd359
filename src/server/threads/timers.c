/* SPDX-License-Identifier: MIT */
#include "server/threads/timers.h"

#include <stddef.h>

void timers_init(struct timers *ts)
{
    ts->head = (struct timer){.next = &ts->head, .prev = &ts->head, .at = TIME_NEVER};
    ts->next_at = TIME_NEVER;
}

void timer_clear(struct timer *t)
{
    if (t->next == NULL)
        return;
    t->next->prev = t->prev;
    t->prev->next = t->next;
    t->next = t->prev = NULL;
}

void timer_set(struct timers *ts, struct timer *t, int64_t at)
{
    timer_clear(t);
    t->at = at;
    t->next = &ts->head;
    t->prev = ts->head.prev;
    t->prev->next = t;
    ts->head.prev = t;
    if (at < ts->next_at)
        ts->next_at = at;
}

static struct timer *find_due(struct timers *ts, int64_t now_at, int64_t *ret_earliest_at)
{
    int64_t earliest_at = TIME_NEVER;

    for (struct timer *t = ts->head.next; t != &ts->head; t = t->next) {
        if (t->at <= now_at)
            return t;
        if (t->at < earliest_at)
            earliest_at = t->at;
    }
    *ret_earliest_at = earliest_at;
    return NULL;
}

void timers_run(struct timers *ts, int64_t now_at)
{
    int64_t earliest_at;
    struct timer *t;

    if (now_at < ts->next_at)
        return;
    /* A timer may set or clear any other: search again from the start. */
    while ((t = find_due(ts, now_at, &earliest_at)) != NULL) {
        timer_clear(t);
        t->fire(t);
    }
    ts->next_at = earliest_at;
}
