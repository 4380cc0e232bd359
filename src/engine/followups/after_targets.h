/*
 * Whom the jobs of one array wait for.
 *
 * Within the batch's transaction; what is found lives in the batch's arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "engine/jobs/submit.h"

/* Whom a condition of an item means. */
struct after_target {
    int64_t id;           /* 0: no job */
    size_t place;         /* of the item of this array that makes it, from 1 on; 0: see `state` */
    enum job_state state; /* in the store, JOB_NONE when it is not there */
    bool again; /* it has ended, and the array runs it once more: all of it is still to come */
    int step;   /* 0: the job itself */
};

/* Whether the plan leads to a new job. */
static inline bool plan_is_made(const struct plan *p)
{
    return !p->known && p->refused.code == E_OK;
}

/* One for each condition of each item; NULL for items that are not made or wait for nothing.  Refs
 * that nobody has, or two have, are refused in the plan. */
MUST_CHECK enum err_code after_find_targets(struct engine *e, const struct submit_item *items,
                                            size_t n, struct plan *plans,
                                            struct after_target ***ret, struct err *err);

/* Jobs that wait for each other in a circle would never begin: refuses one item of it, if there is
 * one.  (after_circle.c)
 */
void after_refuse_circles(const struct submit_item *items, size_t n, struct plan *plans,
                          struct after_target *const *targets, struct arena *arena);
