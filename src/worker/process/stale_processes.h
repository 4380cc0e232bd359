/*
 * Processes that killed workers left behind: found and killed.
 *
 * A process belongs to an earlier worker when a record names it (same boot, pid and start: never a
 * reused pid), when it is in the group of such a process or below it, or when its environment says
 * so.  The worker itself and its ancestors are never killed.
 *
 * A process that has left its group, its parent and its environment is found while its worker lives
 * (tree.h); after the worker was killed nothing distinguishes it from others.
 *
 * Both functions look at every process of the machine, which takes milliseconds, and wait at most
 * `wait_us` for what they killed to end.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "worker/run/slot.h"

struct stale_result {
    unsigned ended; /* killed and gone */
    unsigned stay;  /* not gone, or not permitted to kill */
};

/* At the start of a worker, before it starts anything: kills what the records in this STATE
 * name, and what has a job file in it.  Clears the records unless something is left. */
struct stale_result stale_processes_kill(struct slots *s, int64_t wait_us);

struct stale_job {
    struct slice id;
    struct slice lease; /* the present one: processes of earlier leases are killed */
    struct slice url;   /* WAYBILL_JOB_URL, may be empty: ids are unique per store only */
};

/* Before a job runs that was lost earlier: kills what runs for it under an earlier lease, of any
 * worker of this machine.  It is found by the records of all workers beside STATE, and by
 * processes whose environment has the same URL or a job file beside STATE.  If something is
 * left, the job must not run here yet. */
struct stale_result stale_processes_kill_job(const struct slots *s, const struct stale_job *job,
                                             int64_t wait_us);
