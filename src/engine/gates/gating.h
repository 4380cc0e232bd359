/*
 * Gating: which jobs of a queue may start, for queues whose jobs need something.
 *
 * A *line* is a list of ready jobs of one queue that need the same: the jobs of a lane, those with
 * the same needs, or all of the queue.  An *access* is what lines need: gates and weights, shared
 * by all lines with the same needs.  All gates of an access and the lane's own are granted, or
 * none.
 *
 * Who is refused is not looked at again before the instant that was told, or before news of a gate
 * that refused it: a closed backlog costs nothing.  Lines of an access are in the order of their
 * first jobs: priority, then the line served longest ago.
 *
 * An access that lacks only slots, while jobs that come after it take them, gets a reservation
 * after OVERTAKEN_MAX of them.
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/gate/gate.h"
#include "core/gate/needs.h"
#include "engine/claims/ready.h"
#include "engine/gates/gate.h"

struct engine;
struct job;
struct queue;

enum { OVERTAKEN_MAX = 10 };

struct access_need {
    struct gate *gate;
    int64_t weight;
};

struct line;

struct access {
    struct queue *queue;
    char *needs_json; /* canonical: equal needs share one access */
    struct access_need *needs;
    size_t n_needs;
    bool is_broken;           /* it names a resource that does not exist */
    int64_t blocked_until_at; /* wall: not looked at before; 0: may start; TIME_NEVER: till news */
    bool lacks_slots;         /* … and that only */
    int overtaken;            /* starts of later jobs since then */
    bool told;         /* shared stores: others know that it has jobs, though it is blocked */
    int64_t looked_at; /* steady: when a claim wanted its jobs */
    VEC(struct line *) lines; /* a heap: those that may have jobs to start */
};

struct line {
    int64_t id; /* of the row in gates; 0: the jobs of the queue without a lane */
    struct access *access;
    struct gate *lane;   /* NULL: none */
    struct ready *ready; /* the queue's own, or `list` */
    struct ready list;
    struct ready_ref head;   /* its first job, as far as known */
    uint64_t served;         /* counts starts: the lower, the longer ago */
    size_t at;               /* place in the heap, from 1; 0: not in it */
    int64_t parked_until_at; /* 0: not parked; TIME_NEVER: until its lane has a slot */
    bool deferred;
    bool listed;        /* shared stores: among `filled` */
    bool stored;        /* its row was added, by this server or another */
    uint64_t stored_in; /* … in this batch */
    uint64_t taken_in;  /* the claim that took its last listed job */
};

struct gating {
    uint64_t generation;           /* of e->gates when it was made */
    VEC(struct access *) accesses; /* [0]: the queue's own needs */
    struct line plain;
    struct map lines;            /* by id */
    VEC(struct line *) parked;   /* a heap by parked_until_at */
    struct map lanes;            /* gates of lanes, by id */
    VEC(struct line *) filled;   /* shared stores: lists to forget after the batch */
    VEC(struct line *) deferred; /* of the claim: in no heap until the next */
    uint64_t claim;              /* counts claims that have looked at it */
    struct gate_rules lane_rules;
    uint64_t serial;      /* of starts */
    bool loaded;          /* lines with ready jobs were read from the store */
    VEC(int64_t) untold;  /* shared stores: lanes whose ready jobs other servers do not know */
    VEC(int64_t) unknown; /* lanes with ready jobs that are no lines yet */
};

/* The gating of a queue, NULL: its jobs need nothing.  And makes one, for a job with needs. */
struct gating *gating_of(struct engine *e, struct queue *q);
struct gating *gating_make(struct engine *e, struct queue *q);
void gating_drop(struct engine *e, struct queue *q);
void gating_drop_all(struct engine *e);

/* Definitions have changed: all gatings are made again. */
void gating_redefine(struct engine *e);

/* ---- for claims ---- */

/* Begins a claim's look at the queue. */
MUST_CHECK enum err_code gating_begin(struct engine *e, struct queue *q, struct err *err);

/* The first job that may start now; *ret_line NULL: none.  `skips` is true for jobs that the
 * claimer cannot take. */
typedef bool gating_skip_fn(const struct queue *q, int64_t job);
MUST_CHECK enum err_code gating_best(struct engine *e, struct queue *q, gating_skip_fn *skips,
                                     struct line **ret_line, struct ready_ref *ret_ref,
                                     struct err *err);

/* Takes that job, and books what it needs. */
void gating_take(struct engine *e, struct queue *q, struct line *line, struct ready_ref ref);

/* The job stays ready after all. */
void gating_put_back(struct engine *e, struct queue *q, struct ready_ref ref);

/* What was booked and granted is kept, the rest comes back. */
void gating_granted(struct engine *e, const struct job *jobs, size_t n);

/* Whether the job was taken by the claim that is served. */
bool gating_has_booked(const struct engine *e, int64_t job);

/* Whether a look at the store may find a job to start. */
bool gating_may_start(struct engine *e, struct queue *q);

/* ---- for those who change jobs ---- */

/* A job with a lane became ready, or is no longer. */
void gating_add_ready(struct engine *e, struct queue *q, const struct job *j);
void gating_remove_ready(struct engine *e, struct queue *q, const struct job *j);

/* What a queue or a lane needs. */
struct access *access_new(struct engine *e, struct queue *q, const struct needs *needs,
                          struct slice json);

/* Shared stores: the batch is over, lists may be out of date. */
void gating_clear(struct engine *e, struct queue *q);

/* Shared stores: whether other servers should look for jobs of the queue that have no lane; notes
 * lanes for gating_tell. */
bool gating_must_tell(struct engine *e, struct queue *q);

/* Shared stores: adds news of lanes with ready jobs. */
void gating_tell(struct engine *e, struct queue *q);

/* Shared stores: other servers have made jobs of a lane ready; 0: of any lanes. */
void gating_hear(struct engine *e, struct queue *q, int64_t lane);

/* ---- for gates ---- */

void access_look_again(struct engine *e, struct access *a);

/* ---- for lines ---- */

/* Whether needs are the same for all jobs. */
bool needs_are_fixed(const struct needs *needs);

/* The access with these needs, which is made if there is none. */
struct access *access_get(struct engine *e, struct queue *q, struct slice needs_json);
