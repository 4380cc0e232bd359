/*
 * Targets: the jobs that the items of one array wait for.
 *
 * Within the batch's transaction; what is found lives in the batch's arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "engine/jobs/submit.h"

/* The job or step that a condition of an item is on. */
struct after_target {
    int64_t id;           /* 0: no job */
    size_t place;         /* of the item of this array that creates it, from 1; 0: see `state` */
    enum job_state state; /* in the store, JOB_NONE when the job does not exist */
    bool again;           /* it has ended, and the array runs it again from its beginning */
    int step;             /* 0: the job itself */
};

/* Whether the plan creates a job. */
static inline bool plan_is_made(const struct plan *p)
{
    return !p->known && p->refused.code == E_OK && (p->ruling == NULL || !plan_is_dropped(p));
}

/* Finds one target for each condition of each item; NULL for items that create no job or have no
 * conditions.  Unknown and duplicate refs are refused in the plan. */
MUST_CHECK enum err_code after_find_targets(struct engine *e, const struct submit_item *items,
                                            size_t n, struct plan *plans,
                                            struct after_target ***ret, struct err *err);

/* Jobs that wait for each other in a circle would never start: refuses one item of the first circle
 * found.  (after_circle.c) */
void after_refuse_circles(const struct submit_item *items, size_t n, struct plan *plans,
                          struct after_target *const *targets, struct arena *arena);
