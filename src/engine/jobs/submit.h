/*
 * Common to submits and emits: new jobs are judged, then created.
 *
 * Within the batch's transaction.  A refusal goes into the plan, a failure of the store into `err`.
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
struct group_choice;
struct group_opening;
struct engine;
struct filter_ruling;
struct queue;

/* What is to be done with an item. */
struct plan {
    struct err refused;
    struct queue *queue;
    int64_t id;                     /* of the known job, or of the new one */
    int64_t new_id;                 /* reserved id of a new job; 0: any */
    bool known;                     /* a job with this key exists */
    bool redone;                    /* the known job had ended, and is run again */
    int64_t log_size;               /* of the redone job's earlier log */
    bool awaited;                   /* another job of the same array waits for it */
    const struct after_plan *after; /* NULL: no conditions */
    int64_t group;                  /* that it is a member of; 0: none but the root */
    int64_t closes;                 /* the group whose finaliser it is; 0: none */
    struct group_opening *opening;  /* the group that it names or opens; NULL: neither */
    const struct group_choice *choice;
    bool staged;    /* in that group */
    int64_t shared; /* params and body are in the store already, under this id */
    /* What the filters of its queue say; NULL: it is kept, without a word. */
    const struct filter_ruling *ruling;
};

/* Whether a filter has dropped it: it is not made. */
bool plan_is_dropped(const struct plan *p);

/* When keys are judged.  LATER: staged jobs, whose keys are judged at their release. */
enum submit_keys { SUBMIT_KEYS_NOW, SUBMIT_KEYS_LATER };

/* Makes the plan, in which at most new_id is set.  With SUBMIT_KEYS_NOW the item's key must be in
 * the book. */
MUST_CHECK enum err_code submit_judge(struct engine *e, const struct submit_item *item,
                                      enum submit_keys keys, struct plan *p, struct err *err);

/* Looks up the keys of all submits of a batch, and takes the free ones for their new jobs
 * (keys.h). */
MUST_CHECK enum err_code submit_prepare_keys(struct engine *e, struct err *err);

/* Looks up what the filters of their queues want to know of all submits. */
MUST_CHECK enum err_code submit_look_at_filters(struct engine *e, struct err *err);

/* The same as submit_prepare_keys for the items of one request. */
MUST_CHECK enum err_code submit_take_keys(struct engine *e, const struct submit_item *items,
                                          size_t n, struct plan *plans, struct err *err);

/* Sets whether the key, which is in the book, is known; refuses the plan if the content differs. */
void submit_judge_key(struct engine *e, const struct submit_item *item, struct plan *p);

/* Enters what the filters of its queue want to know, before filters_look or filters_peek. */
void submit_want_filters(struct engine *e, const struct submit_item *item, const struct plan *p);

/* Creates a job that nobody has asked for, unless a filter drops it. */
MUST_CHECK enum err_code submit_make_unasked(struct engine *e, const struct submit_item *item,
                                             struct plan *p, struct err *err);

/* Gives ids to jobs that are neither known nor refused (with SUBMIT_KEYS_NOW one id for each key)
 * lets the filters of their queues judge them (with SUBMIT_KEYS_LATER only as far as the release
 * cannot change it), and judges their conditions.  Then they can be created.  Call filters_undo
 * if they are not. */
MUST_CHECK enum err_code submit_prepare(struct engine *e, const struct submit_item *items, size_t n,
                                        enum submit_keys keys, struct plan *plans, struct err *err);

/* An array is refused as a whole, also when two of its jobs have the same key and different
 * content.  Call it before any job is created.  Returns the index of the first refused one,
 * or n. */
size_t submit_first_refused(const struct submit_item *items, size_t n, struct plan *plans,
                            struct err *ret_refused);

/* The new job with id p->id: ready, scheduled or held, by its start time and conditions. */
struct job submit_make_job(struct engine *e, const struct submit_item *item, const struct plan *p);

/* Stores the steps that the job is submitted as having run, before all later entries. */
MUST_CHECK enum err_code submit_keep_progress(struct engine *e, const struct submit_item *item,
                                              const struct plan *p, struct err *err);

/* Creates a prepared job; it is written together with the batch's other new jobs. */
MUST_CHECK enum err_code submit_create(struct engine *e, const struct submit_item *item,
                                       struct plan *p, struct err *err);

/* Creates the jobs that are not known, and runs known ones again if their items ask for it. */
MUST_CHECK enum err_code submit_create_all(struct engine *e, const struct submit_item *items,
                                           size_t n, struct plan *plans, struct err *err);

/* Runs one submit; emits use the functions above. */
MUST_CHECK enum err_code submit_run(struct engine *e, struct op *op, struct err *err);

/* Writes the jobs that the batch has created so far. */
MUST_CHECK enum err_code submit_flush(struct engine *e, struct err *err);

/* A dry run: adds to the reply what would be done with each item. */
void submit_add_plan(struct engine *e, struct op *op, const struct plan *plans);

/* Adds the id as a string to a JSON array. */
void submit_add_id(struct buf *b, int64_t id);

/* Adds the ids of the plans, null for dropped ones; then what was dropped, if anything was:
 * "ids":[…],"dropped":[…]. */
void submit_add_ids(struct buf *b, const struct plan *plans, size_t n);

/* The JSON array of what was dropped. */
void submit_add_dropped(struct buf *b, const struct plan *plans, size_t n);
