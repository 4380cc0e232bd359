/*
 * Chains: creates the jobs that follow the end of another job, and passes params to them.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "core/route/dest.h"

struct engine;
struct plan;

/* What a destination gets. */
struct chain_source {
    struct slice params; /* JSON object, with `result` and `cause` */
    struct slice labels;
    int64_t job;        /* the cause; 0: none */
    int64_t queue;      /* in which the cause ended: its log names missing destinations; 0: none */
    int depth;          /* of the new jobs in the chain */
    struct slice topic; /* that was published to, or empty */
    int priority;
    int64_t group;           /* that the new jobs are members of; 0: none but the root */
    const struct err *unfit; /* why the job cannot run; NULL: it may */
};

MUST_CHECK enum err_code chain_follow_one(struct engine *e, const struct dest *dest,
                                          const struct chain_source *source, struct err *err);

/* Follows destinations from *place on, up to the size of this commit. */
MUST_CHECK enum err_code chain_follow(struct engine *e, const struct dest_list *dests,
                                      const struct chain_source *source, size_t *place,
                                      struct err *err);

/* Creates the job of the plan in its queue, whatever the state of the queue; a job that cannot run
 * fails at once, with the reason. */
MUST_CHECK enum err_code chain_make(struct engine *e, const struct chain_source *source,
                                    struct plan *p, struct err *err);

/* Notes the ends of jobs that were created as failed, after they are written. */
void chain_note_unfit(struct engine *e);

/* A destination does not exist or cannot be used: logs at most one line a second in the log of the
 * queue, or else in the server's log. */
MUST_CHECK enum err_code chain_missing_dest(struct engine *e, const struct chain_source *source,
                                            const char *why, struct err *err);
