/*
 * Chains: what a destination is given, and the jobs that come of it.
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

/* What a destination is given: params, result and cause. */
struct chain_source {
    struct slice params; /* JSON object */
    struct slice labels;
    int64_t job;        /* the cause; 0: none */
    int64_t queue;      /* in which the cause ended: its log names missing destinations; 0: none */
    int depth;          /* of what is made */
    struct slice topic; /* that was published to, or empty */
    int priority;
};

MUST_CHECK enum err_code chain_follow_one(struct engine *e, const struct dest *dest,
                                          const struct chain_source *source, struct err *err);

/* Follows destinations from *place on, as many as belong into this commit. */
MUST_CHECK enum err_code chain_follow(struct engine *e, const struct dest_list *dests,
                                      const struct chain_source *source, size_t *place,
                                      struct err *err);

/* Makes the job of the plan in its queue, in whatever state that is; one that cannot be run fails
 * at once, with the reason. */
MUST_CHECK enum err_code chain_make(struct engine *e, const struct chain_source *source,
                                    struct plan *p, struct err *err);

/* Jobs that cannot be run were written, as failed ones: notes their ends. */
void chain_note_unfit(struct engine *e);

/* A destination is missing or cannot be reached: one line a second in the log of the queue, or else
 * in the server's. */
MUST_CHECK enum err_code chain_missing_dest(struct engine *e, const struct chain_source *source,
                                            const char *why, struct err *err);
