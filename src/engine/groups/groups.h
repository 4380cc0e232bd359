/*
 * Groups: what memory knows of them, and what a batch adds to them.
 *
 * Jobs outside of all groups cost a test for zero.  Everything that a batch changes about groups is
 * gathered here and written by groups_settle, right before the commit.
 * Engine thread only; functions that take an `err` run within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "base/slice.h"
#include "base/vec.h"
#include "core/group/row.h"
#include "core/job/job.h"
#include "engine/batch/names.h"
#include "store/groups/groups.h"

struct buf;
struct engine;

/* Constant for the life of a group. */
struct known_group {
    int64_t parent;
    int depth;
    uint64_t kind; /* hash of its name; that of the empty text: none */
};

struct groups {
    struct map known; /* by id: struct known_group; bounded, so some may be missing */
    struct map held;  /* by id: flags of groups that are paused, cancelled or stopped themselves */
    bool held_is_stale;
    bool has_work;     /* the store may have groups with work: walk.c */
    int64_t work_past; /* the group that was worked on last: the next is above it */
    bool is_open;      /* requests of earlier processes have been ended */
    bool made_ready;   /* the last commit has made jobs ready after the claims of its batch */
};

/* A merge patch for the data of a group. */
struct group_patch {
    int64_t group;
    struct slice patch;
};

/* The finaliser of a group has ended. */
struct group_closing {
    int64_t group;
    bool failed;
};

/* A chunk of work about a group is done. */
struct group_step {
    struct stored_group was;
    int work;
    int64_t place;
};

struct group_batch {
    VEC(struct group_delta) deltas;
    struct map by_id;     /* to the place of its delta, from 1 */
    VEC(int64_t) openers; /* jobs and requests that have ended */
    VEC(struct group_patch) patches;
    VEC(struct group_closing) closings;
    VEC(struct group_step) steps;
    struct names chosen; /* choose.c: groups that new jobs name */
    struct map claimed;  /* by id: struct stored_group of claimed jobs, in the arena */
    bool held_changed;   /* other servers must know */
    bool again;          /* jobs became ready, or may be granted, after its claims */
};

/* ---- what a batch does ---- */

/* A job was created (from JOB_NONE) or has moved.  effects_move calls it for members, for jobs that
 * have opened groups and for finalisers. */
void groups_moved(struct engine *e, const struct job *j, enum job_state from);

/* A staged job is removed as if it had never been. */
void groups_forget_staged(struct engine *e, const struct job *j);

/* A living job is removed by hand. */
void groups_removed(struct engine *e, const struct job *j);

/* The job is granted: it runs. */
void groups_claimed(struct engine *e, const struct job *j);

/* `n` more jobs of the group are decided and not made yet; below 0: fewer. */
void groups_owe(struct engine *e, int64_t group, int64_t n);

/* What the batch adds to a group, to be changed by the caller. */
struct group_delta *groups_delta(struct engine *e, int64_t group);

/* Writes all of it, ends groups and makes finalisers (settle.c).  Before the commit. */
MUST_CHECK enum err_code groups_settle(struct engine *e, struct err *err);

void groups_clear(struct engine *e);
void groups_deinit(struct engine *e);

/* The batch has failed: what memory took from it is read again. */
void groups_undo(struct engine *e);

/* ---- what memory knows ---- */

/* At open: adds the root; requests of earlier processes of this server are over. */
MUST_CHECK enum err_code groups_open(struct engine *e, struct err *err);

void groups_know(struct engine *e, const struct stored_group *group);

/* Loads the group unless it is known.  NULL: there is none. */
MUST_CHECK enum err_code groups_find(struct engine *e, int64_t id, const struct known_group **ret,
                                     struct err *err);

/* Remembers that the group is held, or no longer. */
void groups_set_held(struct engine *e, int64_t id, unsigned flags);

/* The same for a group that this batch has changed: its members are to be looked at, and other
 * servers must know. */
void groups_hold_tree(struct engine *e, int64_t id, unsigned flags);

/* *ret_any: some group is held. */
MUST_CHECK enum err_code groups_any_held(struct engine *e, bool *ret_any, struct err *err);

/* The flags of the groups that hold it, from it up to the root; 0: it may start. */
MUST_CHECK enum err_code groups_tree_flags(struct engine *e, int64_t id, unsigned *ret_flags,
                                           struct err *err);

/* ---- claims ---- */

/* Holds granted jobs of held trees: their state becomes JOB_HELD. */
MUST_CHECK enum err_code groups_hold_claimed(struct engine *e, struct job *jobs, size_t n,
                                             struct err *err);

/* Loads the groups of granted jobs for the reply. */
MUST_CHECK enum err_code groups_load_claimed(struct engine *e, const struct job *jobs, size_t n,
                                             struct err *err);

/* Adds "group" and "closes" of a granted job to the reply, if it has them; data of at most *room
 * bytes, which it takes off. */
void groups_add_claimed(struct engine *e, struct buf *b, const struct job *j, size_t *room);

/* ---- events ---- */

/* Something happened to a group: opened, finishing, done, failed, cancelled, paused, … */
void group_event(struct engine *e, const struct stored_group *group, const char *what);

/* ---- work about members (walk.c) ---- */

bool groups_are_due(const struct engine *e);
int64_t groups_due_at(const struct engine *e);

/* Does a chunk of it. */
MUST_CHECK enum err_code groups_work(struct engine *e, struct err *err);
