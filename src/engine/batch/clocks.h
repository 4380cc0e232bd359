/*
 * The engine's clocks: steps of the wall clock, and times in which leases could not be renewed.
 *
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

struct engine;

enum { OUTAGE_SIZES = 16 };

struct clocks {
    struct now caller;             /* what the caller's clocks said when the batch began */
    int64_t outages[OUTAGE_SIZES]; /* by the leases' clock: the last time that the store failed, or
                                      the engine did not run, for at least 250 ms, 500 ms … */
    int64_t away_us;               /* how long the engine was not run before this batch */
    int64_t step_us; /* by which the wall clock was set; not yet applied to due jobs */
};

/* Takes the time of the caller's clocks, and notices when the wall clock was set. */
void clocks_read(struct engine *e, struct now now);

/* Shared stores: takes the database's time. */
void clocks_of_store(struct engine *e, int64_t now_at);

/* The batch's first write: after the clock was set, moves jobs that are due after a delay. */
MUST_CHECK enum err_code clocks_settle(struct engine *e, struct err *err);

/* The clock that leases are judged by. */
int64_t engine_lease_at(const struct engine *e);

/* Leases could not be renewed: each gets a full period from now on. */
void clocks_outage(struct engine *e);

/* The last time that leases of this length could not be renewed. */
int64_t clocks_outage_at(const struct engine *e, int64_t lease_us);

/* The time by now; without a clock in the config, the time the batch began. */
struct now engine_clock(const struct engine *e);
