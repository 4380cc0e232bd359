/* SPDX-License-Identifier: MIT */
#include "core/clock/firing.h"

#include "core/clock/schedule_def.h"

static int64_t due_at(const struct schedule_def *def, struct slice name, int64_t nominal_at)
{
    return nominal_at == TIME_NEVER ? TIME_NEVER
                                    : nominal_at + schedule_jitter(def, name, nominal_at);
}

int64_t firing_next_at(const struct schedule_def *def, const struct zone *z, struct slice name,
                       int64_t last_at)
{
    return due_at(def, name, schedule_next(def, z, last_at));
}

struct firing_gap firing_gap(const struct schedule_def *def, const struct zone *z, int64_t after,
                             int64_t until)
{
    struct firing_gap gap = {.last_at = schedule_latest(def, z, after, until)};

    if (gap.last_at == 0)
        return gap;
    gap.first_at = schedule_next(def, z, after);
    gap.count = schedule_count(def, z, after, until);
    return gap;
}

/* The last time that is due; the first after last_at is.  What the jitter puts off holds back the
 * times behind it. */
static int64_t last_due(const struct schedule_def *def, const struct zone *z, struct slice name,
                        int64_t last_at, int64_t now_at)
{
    int64_t at = schedule_latest(def, z, last_at, now_at - def->jitter_us);
    int64_t next;

    if (at == 0)
        at = last_at;
    while (due_at(def, name, next = schedule_next(def, z, at)) <= now_at)
        at = next;
    return at;
}

struct firing_plan firing_plan(const struct schedule_def *def, const struct zone *z,
                               struct slice name, int64_t last_at, int64_t now_at)
{
    struct firing_plan p = {.last_at = last_at, .next_at = firing_next_at(def, z, name, last_at)};
    int64_t late_us = def->catch_up_us > FIRING_GRACE_US ? def->catch_up_us : FIRING_GRACE_US;

    if (p.next_at > now_at)
        return p;
    int64_t latest_at = last_due(def, z, name, last_at, now_at);
    int64_t from_at = def->catch_up_all ? now_at - late_us - 1 : latest_at - 1;

    if (due_at(def, name, latest_at) < now_at - late_us)
        from_at = latest_at; /* even the latest is too late */
    if (from_at < last_at)
        from_at = last_at;
    p.missed = firing_gap(def, z, last_at, from_at);
    p.last_at = from_at;
    while (p.last_at < latest_at && p.n_fires < FIRINGS_MAX)
        p.last_at = p.fires[p.n_fires++] = schedule_next(def, z, p.last_at);
    if (p.last_at < latest_at)
        p.next_at = now_at; /* the rest follows at once */
    else
        p.next_at = firing_next_at(def, z, name, p.last_at);
    return p;
}
