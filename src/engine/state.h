/*
 * The engine's state: what the files of this layer share.
 *
 * Each member is a struct of the file that owns it; its header says who may change it and when.
 * `batch` lives for one transaction and is thrown away with it.  The rest is what memory knows of
 * the store: rebuilt at open, changed after a commit, and read again when a batch fails.
 *
 * A use case runs inside the batch's transaction and returns an error only when the store failed:
 * then the whole batch is rolled back.  An expected refusal goes into the op (op->err).
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/rng.h"
#include "engine/batch/answer.h"
#include "engine/batch/batch.h"
#include "engine/batch/clocks.h"
#include "engine/batch/damage.h"
#include "engine/batch/ids.h"
#include "engine/batch/sweep.h"
#include "engine/claims/claims.h"
#include "engine/claims/leases.h"
#include "engine/clock/clock.h"
#include "engine/engine.h"
#include "engine/filters/desk.h"
#include "engine/followups/followups.h"
#include "engine/gates/gate.h"
#include "engine/groups/groups.h"
#include "engine/jobs/bulk.h"
#include "engine/jobs/cancels.h"
#include "engine/jobs/emit.h"
#include "engine/queues/queue.h"
#include "engine/queues/worker.h"
#include "engine/shared/shared.h"
#include "store/store.h"

struct engine {
    struct store *store;
    struct engine_config config;
    const char *url; /* base of full ids, NULL: none */
    struct engine_stats stats;
    struct rng rng;
    struct now now; /* both clocks when the batch began; on shared stores the store's */
    uint32_t node;  /* of our ids, claims and counts */
    struct siphash_key lease_key; /* the store's: proves a lease */
    struct {
        bool (*may_be_later)(void *ctx); /* NULL: never */
        void *ctx;
    } sync; /* of commits */

    struct ids ids;
    struct clocks clocks;
    struct shared shared; /* other servers on the same store */

    /* Read from the store at open. */
    struct queue_list queues;
    struct queue *missing_queue; /* for jobs whose queue a damaged store lacks */
    uint64_t generation;         /* grows when a queue is added or removed */
    int64_t definitions;         /* number of the definitions, as in the store */
    struct worker_list workers;
    struct claims claims;
    struct bulk_list bulk;
    struct emitters emitters;
    struct followups followups;
    struct gate_list gates;
    struct groups groups;
    bool stale;        /* workers, bulk and emitters are to be read again before the next batch */
    bool queues_stale; /* queues too */

    /* Lost with the process. */
    struct waiting waiting; /* ops that wait */
    struct cancels cancels;
    struct desk desk; /* verdicts of commands */
    struct leases leases;
    struct sweep sweep;
    struct clock clock;
    struct skipped skipped;

    VEC(struct op *) asked; /* all ops of this engine_run, which may be several batches */
    struct batch batch;
};
