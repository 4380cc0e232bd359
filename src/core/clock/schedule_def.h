/*
 * What a schedule is: {cron: "0 2 * * *", zone: Europe/Berlin, queue: report, params: {…}}, or
 * `every: 10m` instead of `cron`.
 *
 * Its nominal times follow from the definition alone.  Those of `every` are the multiples of its
 * length since 1970 in UTC, whenever the schedule was defined.
 *
 * Kept in the store as canonical JSON.  Pure: the zone of that name is a parameter.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/time/cron.h"

struct object;
struct object_faults;
struct zone;

#define SCHEDULE_EVERY_MIN_US US_PER_S
#define SCHEDULE_JITTER_MAX_US US_PER_HOUR
#define SCHEDULE_CATCH_UP_MAX_US (31 * US_PER_DAY)

enum schedule_overlap {
    OVERLAP_SKIP,    /* while the last job lives, no other is made */
    OVERLAP_QUEUE,   /* the next one waits for its end */
    OVERLAP_ALL,     /* they run side by side */
    OVERLAP_REPLACE, /* the last one is cancelled, and the next one waits for its end */
    OVERLAP_COUNT
};

struct schedule_def {
    struct slice description;
    struct slice cron_text; /* empty: `every` */
    struct cron cron;
    int64_t every_us;
    struct slice zone; /* name; UTC needs no file */
    struct slice queue;
    struct slice topic;  /* one of both */
    struct slice params; /* JSON object or empty; texts may have names: schedule_params.h */
    int64_t jitter_us;
    unsigned overlap; /* enum schedule_overlap; OVERLAP_ALL for a topic */
    bool has_overlap;
    int64_t catch_up_us;
    bool catch_up_all;
};

extern const struct object schedule_object;
extern const char *const schedule_overlap_names[OVERLAP_COUNT];

/* Reads a checked JSON object, from outside or from the store.  E_INVALID: "cron: …".  With
 * `faults`, which may be NULL, mistakes in members go there. */
MUST_CHECK enum err_code schedule_def_parse(struct slice json, struct arena *arena,
                                            struct schedule_def *ret_def,
                                            struct object_faults *faults, const char **fault_at,
                                            struct err *err);
MUST_CHECK enum err_code schedule_def_canonical(struct slice json, struct buf *out,
                                                struct err *err);

/* Whether both have the same nominal times and the same jitter. */
bool schedule_same_times(const struct schedule_def *a, const struct schedule_def *b);

/* ---- nominal times ---- */

/* The first one after `after`; TIME_NEVER: none before the end of 9999. */
int64_t schedule_next(const struct schedule_def *def, const struct zone *z, int64_t after);

/* The last one after `after` and not after `until`; 0: none. */
int64_t schedule_latest(const struct schedule_def *def, const struct zone *z, int64_t after,
                        int64_t until);

enum { SCHEDULE_COUNT_MAX = 10000 };

/* How many there are after `after` and not after `until`.  Those of a cron are counted up to
 * SCHEDULE_COUNT_MAX. */
int64_t schedule_count(const struct schedule_def *def, const struct zone *z, int64_t after,
                       int64_t until);

/* By how much the firing for a nominal time is put off: below the jitter of the definition, and
 * always the same for one schedule and time. */
int64_t schedule_jitter(const struct schedule_def *def, struct slice name, int64_t nominal_at);
