/*
 * Schedules by the clock: nominal times, which of them are due, and what a firing does when the
 * previous one still runs.
 *
 * A nominal time is fired or missed once: each call gets the last one that was dealt with and
 * answers about those after it, up to now.  Their cost does not grow with the time that has passed.
 * A clock that is set back makes nothing due again.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/slice.h"
#include "core/clock/schedule_def.h"

struct zone;

enum {
    SCHEDULE_FIRINGS_MAX = 100,  /* of one answer; the caller asks again */
    SCHEDULE_COUNTED_MAX = 10000 /* missed times of a cron; beyond it they are "at least" */
};

/* A firing that comes later than this is missed, not late; `catch_up` extends it. */
#define SCHEDULE_LATE_US US_PER_MIN

/* When it fires. */
struct schedule_times {
    const struct schedule_def *def;
    const struct zone *zone; /* NULL: UTC */
    int64_t first_at;        /* of `every`: the first nominal time, which never changes */
};

/* The first nominal time after the instant; TIME_NEVER: none. */
int64_t schedule_next(const struct schedule_times *t, int64_t after);

/* The latest nominal time in (after, upto]; 0 when there is none. */
int64_t schedule_latest(const struct schedule_times *t, int64_t after, int64_t upto);

/* Nominal times that pass without a firing, recorded as one entry. */
struct schedule_missed {
    int64_t from_at, to_at; /* the first and the last of them */
    int64_t count;          /* 0: none */
    bool at_least;          /* there are more */
};

struct schedule_due {
    struct schedule_missed missed; /* all before the first of `fire` */
    int64_t fire[SCHEDULE_FIRINGS_MAX];
    size_t n_fire;
    bool more;       /* ask again with the last of `fire` */
    int64_t next_at; /* when to ask again; TIME_NEVER: never */
};

/* What is due at `now` after the nominal time `last_at` was dealt with; a new schedule begins with
 * the instant at which it was made. */
void schedule_judge(const struct schedule_times *t, int64_t last_at, int64_t now,
                    struct schedule_due *ret_due);

/* By how much the firing of a nominal time is late: from 0 to below `jitter`, the same on all
 * servers. */
int64_t schedule_jitter_us(const struct schedule_def *def, struct slice name, int64_t nominal_at);

enum schedule_step {
    SCHEDULE_FIRE,
    SCHEDULE_SKIP,           /* record it as skipped */
    SCHEDULE_FIRE_AFTER,     /* the job waits for the end of the previous one */
    SCHEDULE_CANCEL_AND_FIRE /* the previous job is cancelled */
};

/* What a due firing does, given whether the job of the previous one still lives. */
enum schedule_step schedule_step(enum schedule_overlap overlap, bool previous_lives);
