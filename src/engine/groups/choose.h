/*
 * Into which group a new job goes: that of its maker, one that it names, or one that is opened with
 * it.
 *
 * Judged with the job; a group is added to the store only when a job is made in it.
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/group/choice.h"
#include "engine/jobs/submit.h"
#include "store/groups/groups.h"

struct engine;

/* Who makes the jobs. */
struct group_scope {
    int64_t group;  /* the current group: of the job that emits; 0: the root */
    int64_t opener; /* the job or request that opens groups */
    bool is_new;    /* the opener has not opened any before */
    bool lives;     /* it may add to them after this commit */
    bool staged;    /* the jobs are staged */
    int64_t node;   /* of a request that goes on, from 1; else 0 */
};

/* A group that jobs of the batch open. */
struct group_opening {
    struct stored_group group;
    struct err refused;
    bool exists; /* in the store */
};

/* Sets group, opening and joins of the plans that make a job, or refuses them.  *ret_opens: a plan
 * opens a group. */
MUST_CHECK enum err_code groups_choose(struct engine *e, const struct group_scope *scope,
                                       const struct submit_item *items, size_t n,
                                       struct plan *plans, bool *ret_opens, struct err *err);

/* The job of the plan is made now: its group is opened if need be. */
MUST_CHECK enum err_code groups_join(struct engine *e, struct plan *p, struct err *err);

/* The job of the plan is dropped by a filter: it counts as dropped, if its group is there. */
void groups_note_dropped(struct engine *e, const struct plan *p);

/* Whether one of the items names or opens a group. */
bool groups_any_chosen(const struct submit_item *items, size_t n);

/* Judges a new group by its kind: fills what the kind says.  `parent` is its id, or 0 for the
 * root. */
MUST_CHECK enum err_code group_judge_new(struct engine *e, const struct group_choice *choice,
                                         int64_t parent, struct stored_group *ret,
                                         struct err *refused, struct err *err);

/* Adds it to the store and to its parent.  *ret_added false: another server was faster. */
MUST_CHECK enum err_code group_add(struct engine *e, struct stored_group *group, bool *ret_added,
                                   struct err *err);

/* Refuses a group that nobody can join. */
void group_refuse_closed(const struct stored_group *group, struct err *refused);
