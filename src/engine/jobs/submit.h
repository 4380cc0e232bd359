/*
 * What submits and emits have in common: jobs as they come in are judged, then made.
 *
 * Within the batch's transaction.  A refusal is a plan's, an error is the store's.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/job/job.h"
#include "engine/op.h"

struct after_plan;
struct engine;
struct queue;

/* What is to become of an item. */
struct plan {
    struct err refused;
    struct queue *queue;
    int64_t id;     /* the known job's, or the new one's */
    int64_t new_id; /* that is to be its id if it is made; 0: any */
    bool known;
    bool redone;                    /* it has been, and is run again: */
    int64_t log_size;               /* there its log goes on */
    bool awaited;                   /* another of the same array waits for it */
    const struct after_plan *after; /* NULL: it waits for nothing */
    int64_t shared;                 /* params and body are in the store already, under this id */
};

/* A staged job's key is judged when it is released. */
enum submit_keys { SUBMIT_KEYS_NOW, SUBMIT_KEYS_LATER };

/* Of the plan p->new_id counts.  Keys that count now are in the book. */
MUST_CHECK enum err_code submit_judge(struct engine *e, const struct submit_item *item,
                                      enum submit_keys keys, struct plan *p, struct err *err);

/* Looks up the keys of all submits of a batch, and takes those that nobody has, for jobs that are
 * to be made (keys.h). */
MUST_CHECK enum err_code submit_prepare_keys(struct engine *e, struct err *err);

/* The same for the items of one request. */
MUST_CHECK enum err_code submit_take_keys(struct engine *e, const struct submit_item *items,
                                          size_t n, struct plan *plans, struct err *err);

/* Whether the key, which is in the book, is known; with other content the plan is refused. */
void submit_judge_key(struct engine *e, const struct submit_item *item, struct plan *p);

/* Gives ids to those that are neither known nor refused (where keys count now, to each key once)
 * and judges what they wait for: then they can be made. */
MUST_CHECK enum err_code submit_prepare(struct engine *e, const struct submit_item *items, size_t n,
                                        enum submit_keys keys, struct plan *plans, struct err *err);

/* An array is refused as a whole, also when two of its own jobs clash: found out before any is
 * made.  The place of the first that is refused, n when there is none. */
size_t submit_first_refused(const struct submit_item *items, size_t n, struct plan *plans,
                            struct err *ret_refused);

/* Ready, scheduled or held, as its time and its conditions say; p->id is its id. */
struct job submit_make_job(struct engine *e, const struct submit_item *item, const struct plan *p);

/* The record that a job is handed in with comes before what will happen here. */
MUST_CHECK enum err_code submit_keep_progress(struct engine *e, const struct submit_item *item,
                                              const struct plan *p, struct err *err);

/* Makes a job that is prepared; it is written with the others of the batch. */
MUST_CHECK enum err_code submit_create(struct engine *e, const struct submit_item *item,
                                       struct plan *p, struct err *err);

/* All that are not known; of those that are, what is to be done again. */
MUST_CHECK enum err_code submit_create_all(struct engine *e, const struct submit_item *items,
                                           size_t n, struct plan *plans, struct err *err);

/* Submits of the batch; emits use the functions above. */
MUST_CHECK enum err_code submit_run(struct engine *e, struct op *op, struct err *err);

/* Writes what the submits and emits of the batch have made so far. */
MUST_CHECK enum err_code submit_flush(struct engine *e, struct err *err);

/* A dry run: what would be made of each. */
void submit_add_plan(struct engine *e, struct op *op, const struct plan *plans);

/* The id as a string of a JSON array. */
void submit_add_id(struct buf *b, int64_t id);
