/* SPDX-License-Identifier: MIT */
#include "core/clock/schedule.h"

#include "base/civil.h"
#include "base/rng.h"
#include "core/time/zone.h"

static const struct zone utc = {.changes = NULL};

/* ---- nominal times ---- */

static int64_t next_by_length(const struct schedule_times *t, int64_t after)
{
    int64_t every = t->def->every_us;
    int64_t steps;
    int64_t at;

    if (after < t->first_at)
        return t->first_at;
    steps = (after - t->first_at) / every + 1;
    if (__builtin_mul_overflow(steps, every, &at) || __builtin_add_overflow(at, t->first_at, &at))
        return TIME_NEVER;
    return at;
}

int64_t schedule_next(const struct schedule_times *t, int64_t after)
{
    if (t->def->every_us > 0)
        return next_by_length(t, after);
    return cron_next(&t->def->cron, t->zone == NULL ? &utc : t->zone, after);
}

/* Halves the time in which the next nominal time is still one up to `upto`. */
int64_t schedule_latest(const struct schedule_times *t, int64_t after, int64_t upto)
{
    int64_t low = after; /* a nominal time up to `upto` comes after it */
    int64_t high = upto; /* … does not */

    if (upto <= after || schedule_next(t, after) > upto)
        return 0;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;

        if (schedule_next(t, middle) <= upto)
            low = middle;
        else
            high = middle;
    }
    return schedule_next(t, low);
}

/* ---- what is due ---- */

/* All nominal times in (after, upto). */
static struct schedule_missed missed_between(const struct schedule_times *t, int64_t after,
                                             int64_t before)
{
    int64_t last = schedule_latest(t, after, before - 1);
    struct schedule_missed m = {.count = 0};

    if (last == 0)
        return m;
    m.from_at = schedule_next(t, after);
    m.to_at = last;
    if (t->def->every_us > 0) {
        m.count = (m.to_at - m.from_at) / t->def->every_us + 1;
        return m;
    }
    for (int64_t at = m.from_at; at <= last && !m.at_least; at = schedule_next(t, at)) {
        m.at_least = m.count == SCHEDULE_COUNTED_MAX;
        m.count += !m.at_least;
    }
    return m;
}

static void add_firings(const struct schedule_times *t, int64_t after, int64_t now,
                        struct schedule_due *due)
{
    int64_t at = schedule_next(t, after);

    for (; at <= now && due->n_fire < SCHEDULE_FIRINGS_MAX; at = schedule_next(t, at))
        due->fire[due->n_fire++] = at;
    due->more = at <= now;
}

void schedule_judge(const struct schedule_times *t, int64_t last_at, int64_t now,
                    struct schedule_due *ret_due)
{
    const struct schedule_def *def = t->def;
    int64_t within = def->catch_up_us > SCHEDULE_LATE_US ? def->catch_up_us : SCHEDULE_LATE_US;
    int64_t oldest = now - within; /* what is before it is missed */
    int64_t latest = schedule_latest(t, last_at, now);

    *ret_due = (struct schedule_due){.next_at = schedule_next(t, now > last_at ? now : last_at)};
    if (latest == 0)
        return;
    if (def->catch_up_all)
        add_firings(t, oldest - 1 > last_at ? oldest - 1 : last_at, now, ret_due);
    else if (latest >= oldest)
        ret_due->fire[ret_due->n_fire++] = latest;
    ret_due->missed = missed_between(t, last_at, ret_due->n_fire > 0 ? ret_due->fire[0] : now + 1);
    if (ret_due->more)
        ret_due->next_at = now;
}

int64_t schedule_jitter_us(const struct schedule_def *def, struct slice name, int64_t nominal_at)
{
    struct rng rng;

    if (def->jitter_us == 0)
        return 0;
    rng_init(&rng, slice_hash(name) ^ (uint64_t)nominal_at);
    return (int64_t)rng_below(&rng, (uint64_t)def->jitter_us);
}

enum schedule_step schedule_step(enum schedule_overlap overlap, bool previous_lives)
{
    static const enum schedule_step steps[] = {[OVERLAP_SKIP] = SCHEDULE_SKIP,
                                               [OVERLAP_QUEUE] = SCHEDULE_FIRE_AFTER,
                                               [OVERLAP_ALL] = SCHEDULE_FIRE,
                                               [OVERLAP_REPLACE] = SCHEDULE_CANCEL_AND_FIRE};

    return previous_lives ? steps[overlap] : SCHEDULE_FIRE;
}
