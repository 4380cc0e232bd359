/*
 * Cancels of running jobs: a worker learns of them when it asks for work, or touches the job.
 *
 * Nothing here is a promise: the job's row says that it is to stop, and every touch repeats it.
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "core/job/lease.h"

struct engine;
struct op;

struct cancel_note {
    struct lease lease;
    int64_t worker;
};

struct cancels {
    struct map by_job; /* job to struct cancel_note, until its worker knows */
};

/* Adds the cancels that the op's worker does not know of to its reply; true when there are any. */
bool cancels_report(struct engine *e, struct op *op);

/* Whether a claim of that worker waits here, and so can be answered with a cancel. */
bool cancels_worker_waits(const struct engine *e, int64_t worker);

/* After the commit: adds the batch's cancels, drops those that were reported or are needless. */
void cancels_apply(struct engine *e);
void cancels_free(struct engine *e);
