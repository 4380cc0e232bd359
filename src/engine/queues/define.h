/*
 * Definitions in the store: one request puts and removes definitions of all kinds as a whole, or
 * is refused.
 *
 * The request is judged against the set of all definitions as it will be afterwards, before
 * anything is written: whatever is removed must be free (no jobs, no arrivals) and named by no
 * other definition, and whatever is put must name only what exists.
 *
 * A kind is one row here (what happens to it in the store) and one row of core/definition/kinds.h
 * (how it reads). Engine thread only; everything runs inside the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/definition/kinds.h"
#include "engine/batch/names.h"
#include "engine/op.h"

struct engine;
struct define_set;

/* One definition of the set.  Names live as long as the batch. */
struct defined {
    enum definition_kind kind;
    struct slice name;
    int64_t id;                    /* in the store; 0: the request adds it */
    void *own;                     /* the kind's own: struct queue */
    bool is_kept;                  /* comes from no definition: prune does not remove it */
    struct slice follows;          /* name of the definition that this one is a copy of; or empty */
    struct definition_links links; /* after the request */

    const struct definition_put *put; /* the request's; NULL: it stays as it is */
    bool is_removed;                  /* by the request */
};

/* For `load`: adds one that exists. */
void define_set_add(struct define_set *set, const struct defined *defined);

enum define_change { DEFINE_ADDED, DEFINE_CHANGED, DEFINE_SAME };

/* Refusals (E_CONFLICT, E_INVALID) go into `refused`; an error is a failure of the store. */
struct define_rules {
    /* Adds every definition of the kind that exists. */
    enum err_code (*load)(struct engine *e, struct define_set *set, struct err *err);

    /* Refuses a name that no definition has, for jobs that lead to it. */
    enum err_code (*check_exists)(struct engine *e, struct slice name, struct err *refused,
                                  struct err *err);

    /* Refuses to redefine one that exists.  NULL: any may be. */
    void (*check_put)(const struct defined *d, struct err *refused);

    /* Writes it when it has changed and this is no dry run. */
    enum err_code (*put)(struct engine *e, const struct definition_put *put, bool dry_run,
                         enum define_change *ret_change, struct err *err);

    /* Refuses a link to one as it will be after the request.  NULL: any is right. */
    void (*check_link)(const struct defined *to, const struct definition_link *link,
                       struct err *refused);

    /* Refuses to remove one that is in use by something that is no definition. */
    enum err_code (*check_removal)(struct engine *e, const struct defined *d, struct err *refused,
                                   struct err *err);
    enum err_code (*remove)(struct engine *e, const struct defined *d, struct err *err);
};

extern const struct define_rules queue_define_rules;    /* change.c */
extern const struct define_rules join_define_rules;     /* followups/join.c */
extern const struct define_rules resource_define_rules; /* gates/resource.c */
extern const struct define_rules schedule_define_rules; /* clock/schedule.c */
extern const struct define_rules group_define_rules;    /* groups/kinds.c */

/* OP_DEFINE. */
MUST_CHECK enum err_code define_run(struct engine *e, struct op *op, struct err *err);

/* Refuses destinations of a job that do not exist: E_INVALID, with the place in the list. */
MUST_CHECK enum err_code define_check_dests(struct engine *e, const struct dest_list *dests,
                                            struct err *refused, struct err *err);

/* ---- for define.c ---- */

struct define_set {
    struct engine *engine;
    const struct define *asked;
    struct defined **items;
    size_t count, capacity;
    struct names names[DEFINITION_KINDS];
};

const struct define_rules *define_rules_of(enum definition_kind kind);

/* All definitions that exist, and what the request makes of them. */
MUST_CHECK enum err_code define_set_load(struct define_set *set, struct err *err);
void define_set_deinit(struct define_set *set);
CLEANUP_BY_DEINIT(define_set)

/* Judges the request: op->err is its refusal; where names are missing, op->define.refusals has
 * all of them. */
MUST_CHECK enum err_code define_judge(const struct define_set *set, struct op *op, struct err *err);
