/*
 * Workers as the engine knows them: a name, a number, and when each was last heard of.
 *
 * Engine thread only; functions that take an `err` run within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "engine/batch/names.h"
#include "engine/op.h"
#include "store/queues.h"
#include "store/shared.h"

struct engine;

/* Shared stores: how much later than its row says a worker may have been heard of; the first for
 * one that holds jobs.  Servers report workers with each beat, and one that is granted jobs in the
 * same commit. */
#define WORKER_LAG_BUSY_US (4 * US_PER_S)
#define WORKER_LAG_US (14 * US_PER_S)

struct known_worker {
    struct stored_worker row;
    char *texts;            /* of row */
    int64_t heard_at;       /* shared stores: last; reported with the next beat */
    bool stale;             /* shared stores: another server has written its row since */
    int64_t alive_until_at; /* by the leases' clock: its instance counts as present */
};

struct worker_list {
    struct known_worker **items;
    size_t count, capacity;
    struct names by_name;
};

MUST_CHECK enum err_code workers_load(struct engine *e, struct err *err);
void workers_free(struct engine *e);

/* The worker's number in the store, 0 when it is not known. */
int64_t worker_number(const struct engine *e, struct slice name);

/* The worker of that name, or NULL. */
struct known_worker *worker_find(const struct engine *e, struct slice name);

/* Shared stores: reads the row of a name that this server does not know, if another has it. */
MUST_CHECK enum err_code worker_learn(struct engine *e, struct slice name, struct err *err);

/* Reads its row again. */
MUST_CHECK enum err_code worker_refresh(struct engine *e, struct known_worker *w, struct err *err);

/* Removes workers that were not heard of for a month. */
MUST_CHECK enum err_code workers_forget_old(struct engine *e, struct err *err);

/* Whether there is something to write about a claiming worker. */
bool worker_has_changed(struct engine *e, const struct exchange *x);

/* Notes that a claiming worker is present.  Refuses the op when another server has meanwhile
 * admitted another instance of its name. */
MUST_CHECK enum err_code worker_seen(struct engine *e, struct op *op, struct err *err);

/* The worker was heard of by a request that is no claim.  Does not prolong an instance. */
MUST_CHECK enum err_code worker_heard(struct engine *e, struct slice name, struct err *err);

/* ---- shared stores ---- */

/* Workers that the next beat reports; *ret_n of them, in the batch's arena. */
struct seen_worker *workers_to_report(struct engine *e, size_t *ret_n);

/* The beat has reported some of them. */
void workers_reported(struct engine *e, const struct seen_worker *seen, size_t n);

/* The worker is granted jobs: writes that it is present, for other servers. */
MUST_CHECK enum err_code worker_report(struct engine *e, struct slice name, struct err *err);

/* Another server has written the row of a worker. */
void worker_changed(struct engine *e, int64_t number);
