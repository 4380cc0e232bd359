/*
 * Filters: judge whether a new job is kept.
 *
 * First all jobs of a set are entered (filters_want) and what they are judged by is looked up
 * (filters_look); then they are judged one after the other, in the order of their creation.  What a
 * judgement takes for its job belongs to the set until the next filters_begin: a set that is
 * refused as a whole calls filters_undo.
 * Within the batch's transaction, on the engine's thread; texts live in the batch's arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"
#include "core/filter/filter_def.h"
#include "engine/filters/drops.h"
#include "engine/filters/uniques.h"
#include "engine/queues/queue.h"

struct arena;
struct engine;
struct group_opening;
struct job;
struct plan;
struct submit_item;

/* A new job, as filters see it. */
struct filter_job {
    struct queue *queue;
    struct slice params;                 /* JSON object, or empty */
    int64_t group;                       /* 0: the root */
    const struct group_opening *opening; /* of that group; NULL: it is in the store */
    int64_t id;                          /* that it will have */
};

enum filter_verdict {
    VERDICT_KEEP,
    VERDICT_DROP,    /* `drop` says why */
    VERDICT_REFUSE,  /* `refused` says why */
    VERDICT_JOIN,    /* it is job drop.job */
    VERDICT_REPLACE, /* it is job drop.job, which waits: it gets params and due time */
    VERDICT_REUSE,   /* it is made as done, with the result of job drop.job */
};

struct filter_ruling {
    enum filter_verdict verdict;
    struct filter_drop drop;
    struct err refused;
    int64_t put_off_max_at; /* REPLACE: the job starts at the latest then; 0: no limit */
    bool held;              /* KEEP, REUSE: a command of the queue decides */
};

/* Jobs that wait, as `limit` counts them. */
struct waiting_count {
    int64_t scope; /* as for keys: of a queue, of a group, of all */
    int64_t stored;
    bool looked;
    int64_t kept; /* by judgements since filters_begin; for a group: in the batch */
};

/* A job that follows another (deferred.c). */
struct deferred_job {
    const struct submit_item *item;
    struct plan *plan;
};

struct filter_batch {
    struct unique_book uniques;
    struct drop_batch drops;
    VEC(struct waiting_count) waiting;
    VEC(struct deferred_job) deferred;
    struct err
        fault; /* of the store, while a group was looked up: told by the next look or write */
};

static inline bool queue_has_filters(const struct queue *q)
{
    return q->def.filters.count > 0;
}

void filters_want(struct engine *e, const struct filter_job *j);
MUST_CHECK enum err_code filters_look(struct engine *e, struct err *err);

/* Looks without waiting for other servers: only for filters_preview. */
MUST_CHECK enum err_code filters_peek(struct engine *e, struct err *err);

void filters_begin(struct engine *e);
void filters_undo(struct engine *e);

/* Judges the job and takes its keys. */
void filters_judge(struct engine *e, const struct filter_job *j, struct filter_ruling *ret);

/* Judges a job that will be judged again, at its release: takes nothing.  Only drops and refuses
 * what cannot be kept later either. */
void filters_preview(struct engine *e, const struct filter_job *j, struct filter_ruling *ret);

/* ---- clashes that another job stands for (stand_in.c) ---- */

/* The job that waits gets params and due time, unless it has started meanwhile. */
MUST_CHECK enum err_code filters_replace(struct engine *e, const struct filter_ruling *r,
                                         struct slice params, int64_t due_at, struct err *refused,
                                         struct err *err);

/* A job in the store becomes done with the result of another; it stays as it is if that is gone. */
MUST_CHECK enum err_code filters_end_released(struct engine *e, const struct filter_ruling *r,
                                              int64_t id, struct err *err);

/* ---- staged jobs at their release (release.c) ---- */

/* Reads the params of those that are judged, and looks up what their filters want to know. */
MUST_CHECK enum err_code filters_look_at_staged(struct engine *e, struct job *jobs, size_t n,
                                                struct arena *arena, struct err *err);

/* NULL: it is kept, without a word.  A refusal is a drop. */
const struct filter_ruling *filters_judge_staged(struct engine *e, const struct job *job,
                                                 struct arena *arena);

/* ---- the batch ---- */

/* Writes what the batch has taken and dropped. */
MUST_CHECK enum err_code filters_write(struct engine *e, struct err *err);

void filters_clear(struct engine *e);
void filters_deinit(struct engine *e);

/* ---- jobs that follow others (deferred.c) ---- */

/* The job is judged and created together with others, at the latest when new jobs are written.
 * Item and plan are copied; what they point to lives as long as the batch. */
void filters_defer(struct engine *e, const struct submit_item *item, const struct plan *plan);

MUST_CHECK enum err_code filters_make_deferred(struct engine *e, struct err *err);
