/*
 * What workers left behind when they were killed or stopped: found and ended.
 *
 * A process is one of theirs when a record names it (same boot, pid, and when it began: never a pid
 * that was given to another since), when it is in the process group or below one of those, or when
 * its environment says so.  The worker itself and its ancestors are never touched.
 *
 * What has left its group, its parent and its environment behind is found as long as its worker
 * lives (tree.h); when that was killed, nothing tells it from the processes of others.
 *
 * Both look at every process of the machine: some milliseconds.  They wait for the end of what they
 * have killed for at most `wait_us`.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "worker/run/slot.h"

struct stale_result {
    unsigned ended; /* killed and gone */
    unsigned stay;  /* not gone, or not ours to kill */
};

/* At the start of a worker, before it starts anything: ends what the records of an earlier one of
 * this STATE name, and what has a job file in it; forgets the records unless something stays. */
struct stale_result stale_processes_kill(struct slots *s, int64_t wait_us);

struct stale_job {
    struct slice id;
    struct slice lease; /* the present one: only earlier leases are ended */
    struct slice
        url; /* WAYBILL_JOB_URL: ids are unique in one store, not on a machine; may be empty */
};

/* Before a job runs that was lost earlier: ends what runs for it under an earlier lease, of
 * whatever worker of this machine: by the records of all workers beside STATE, and by the
 * environment of processes with the same URL, or a job file beside STATE.  When something stays
 * the job must not run here yet. */
struct stale_result stale_processes_kill_job(const struct slots *s, const struct stale_job *job,
                                             int64_t wait_us);
