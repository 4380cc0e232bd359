/*
 * Cancels of running jobs: a worker gets them in the reply to its next claim or touch.
 *
 * These notes may be lost: the job's row says that it is to stop, and every touch reports it again.
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
    struct map by_job; /* job to struct cancel_note, until its worker has been notified */
};

/* Adds the cancels of the op's worker to its reply and drops them; true when there are any. */
bool cancels_report(struct engine *e, struct op *op);

/* Whether a claim of that worker waits at this server: it can be answered with a cancel. */
bool cancels_worker_waits(const struct engine *e, int64_t worker);

/* After the commit: adds the batch's cancels; drops those that were reported or whose attempt has
 * ended. */
void cancels_apply(struct engine *e);
void cancels_free(struct engine *e);
