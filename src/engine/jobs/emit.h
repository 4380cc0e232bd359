/*
 * Emits: jobs that a running job creates, and the cursor that says how far it has got.
 *
 * Emitted jobs are staged: they belong to the attempt and cannot be claimed.  The commit that ends
 * the attempt decides their fate: done releases them, any other end drops them.  That commit stores
 * the fate and settles a bounded number of rows, small attempts first; later commits settle the
 * rest, one request of an attempt after the other.  Visible emits are created at once; but when the
 * job has a cursor, they stay staged until the next cursor or the end releases them, so that an
 * attempt that restarts at the cursor creates nothing twice.
 *
 * Kept in memory, read from the store at open: the running attempts that have emitted (so that most
 * finishes need no query to know that they have nothing to settle), and the attempts whose rows are
 * not all settled.
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
    bool listed; /* it has rows to settle: it is in e->emitters.settling */
    bool fresh;  /* it was listed in this batch */
};

struct emitters {
    struct map by_owner;            /* job to struct emitter: running attempts that have emitted */
    VEC(struct emitter *) settling; /* whose staged jobs are to be released or dropped */
    bool is_unsettled;              /* shared stores: the store may have others to settle */
};

MUST_CHECK enum err_code emitters_load(struct engine *e, struct err *err);
void emitters_free(struct engine *e);

/* The emitter of the running attempt, NULL when it has not emitted anything.  `job` is as
 * store_job_load returned it. */
MUST_CHECK enum err_code emitter_find(struct engine *e, const struct job *job,
                                      struct emitter **ret_emitter, struct err *err);

/* ---- requests (emit.c) ---- */

MUST_CHECK enum err_code emit_run(struct engine *e, struct op *op, struct err *err);

/* What all finishes of a request emit together.  Too much is refused as a whole; the client may
 * send them one by one. */
struct fanout emit_cost(const struct engine *e, const struct exchange *x);
bool emit_is_too_much(const struct engine *e, const struct exchange *x, struct err *refused);

/* Judges what a finish of `job` emits, before anything is written: one plan for each job in the
 * batch's arena, or `refused`.  *ret_opens: it opens groups. */
MUST_CHECK enum err_code emit_judge_finish(struct engine *e, const struct job *job,
                                           const struct finish_item *item, struct plan **ret_plans,
                                           bool *ret_opens, struct err *refused, struct err *err);

/* Creates the emitted jobs after the finish is written.  A job whose key is known is skipped. */
MUST_CHECK enum err_code emit_make_finish(struct engine *e, const struct finish_item *item,
                                          struct plan *plans, struct err *err);

/* ---- release and drop (emit_settle.c) ---- */

/* Whether the running job has emitted anything that its end releases or drops. */
bool emit_owns(const struct engine *e, int64_t job);

/* The attempt has ended, as done or otherwise; `was` is the job while it ran. */
MUST_CHECK enum err_code emit_attempt_ended(struct engine *e, const struct job *was, bool done,
                                            struct err *err);

/* A new cursor releases the visible emits up to request `upto`. */
MUST_CHECK enum err_code emit_release_visible(struct engine *e, struct emitter *m, int64_t upto,
                                              struct err *err);

/* Releases and drops staged jobs whose fate is decided, up to the size of one commit. */
MUST_CHECK enum err_code emit_settle(struct engine *e, struct err *err);
