/*
 * Emits: jobs that a running job makes, and the cursor that says how far it has come.
 *
 * What is emitted is staged: it belongs to the attempt, nobody can claim it, and the commit that
 * ends the attempt decides about it: done releases, any other end drops.  That fate is written
 * down, and a bounded number of rows is settled in the same commit, small attempts first; what is
 * left goes on in the next ones, one request of an attempt after the other.  What is emitted as
 * visible is made at once, but for a job that has a cursor it is staged until the next cursor, or
 * the end, releases it: an attempt that begins at the cursor makes nothing twice.
 *
 * In memory, read from the store at open: the attempts that run and have emitted (so that a finish
 * knows at no cost that it has nothing to settle), and those with something to be worked off.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "core/route/fanout.h"
#include "engine/jobs/submit.h"
#include "store/jobs/emits.h"

struct engine;

struct emitter {
    struct stored_emitter row;
    bool listed; /* something is to be worked off: it is among e->emitters.settling */
    bool fresh;  /* since this very batch */
};

struct emitters {
    struct map by_owner;            /* job to struct emitter: attempts that run and have emitted */
    VEC(struct emitter *) settling; /* whose staged jobs are to be released or dropped */
    bool is_unsettled;              /* shared stores: the store may have more of these */
};

MUST_CHECK enum err_code emitters_load(struct engine *e, struct err *err);
void emitters_free(struct engine *e);

/* That of the running attempt, NULL when it has not emitted anything.  `job` is as store_job_load
 * gave it. */
MUST_CHECK enum err_code emitter_find(struct engine *e, const struct job *job,
                                      struct emitter **ret_emitter, struct err *err);

/* ---- requests (emit.c) ---- */

MUST_CHECK enum err_code emit_run(struct engine *e, struct op *op, struct err *err);

/* What all finishes of a request emit.  Too much together is refused as a whole: one by one they
 * may be taken. */
struct fanout emit_cost(const struct engine *e, const struct exchange *x);
bool emit_is_too_much(const struct engine *e, const struct exchange *x, struct err *refused);

/* What a finish emits, judged before anything is written: n plans in the batch's arena, or
 * refused. */
MUST_CHECK enum err_code emit_judge_finish(struct engine *e, const struct finish_item *item,
                                           struct plan **ret_plans, struct err *refused,
                                           struct err *err);

/* The finish is written: makes them.  One whose key is known is passed over. */
MUST_CHECK enum err_code emit_make_finish(struct engine *e, const struct finish_item *item,
                                          struct plan *plans, struct err *err);

/* ---- release and drop (emit_settle.c) ---- */

/* Does the running job have anything that its end decides about? */
bool emit_owns(const struct engine *e, int64_t job);

/* The attempt has ended, as done or otherwise; `was` is the job while it ran. */
MUST_CHECK enum err_code emit_attempt_ended(struct engine *e, const struct job *was, bool done,
                                            struct err *err);

/* A cursor releases what was visible up to that seq. */
MUST_CHECK enum err_code emit_release_visible(struct engine *e, struct emitter *m, int64_t upto,
                                              struct err *err);

/* Releases and drops what is decided, as much as belongs into one commit. */
MUST_CHECK enum err_code emit_settle(struct engine *e, struct err *err);
