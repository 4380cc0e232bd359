/*
 * Groups in the store.  All writes run inside the caller's transaction.
 *
 * Counters are added to, never written: several servers may count members of one group at once.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/group/row.h"

struct store;

/* What is left to do about a group; each includes those before it.  Persisted. */
enum group_work {
    GROUP_WORK_NONE,
    GROUP_WORK_JUDGE,    /* it may have ended */
    GROUP_WORK_MEMBERS,  /* hold, release or cancel its members above `place` */
    GROUP_WORK_CHILDREN, /* and have its child groups above `place` do the same */
};

struct stored_group {
    int64_t id;
    struct slice kind, name; /* may be empty */
    int64_t parent;
    int depth;
    int64_t opener; /* job or request; its own id: none */
    int64_t node;   /* of a request that may add to it; 0: none */
    enum group_state state;
    unsigned flags; /* enum group_flag */
    struct group_counts counts;
    int64_t version;
    int64_t finaliser;
    int work; /* enum group_work */
    int64_t place;
    int64_t keep_us, keep_failed_us;
    int64_t ended_at, gone_at;
    struct slice data;    /* JSON object, or empty */
    struct slice finally; /* JSON object, or empty */
    struct slice key;
    int64_t content;
};

typedef void store_group_fn(void *ctx, const struct stored_group *group);

/* ret->id 0: none. */
MUST_CHECK enum err_code store_group_load(struct store *s, int64_t id, struct arena *arena,
                                          struct stored_group *ret, struct err *err);

/* The same without data and `finally`. */
MUST_CHECK enum err_code store_group_bare(struct store *s, int64_t id, struct arena *arena,
                                          struct stored_group *ret, struct err *err);
MUST_CHECK enum err_code store_groups_bare(struct store *s, const int64_t *ids, size_t n,
                                           store_group_fn *on_group, void *ctx, struct err *err);

/* As claimed jobs bring them along: data above GROUP_DATA_SHOWN is left out, and `finally` is not
 * empty then. */
MUST_CHECK enum err_code store_groups_claimed(struct store *s, const int64_t *ids, size_t n,
                                              store_group_fn *on_group, void *ctx, struct err *err);

/* Bytes of its data. */
MUST_CHECK enum err_code store_group_data_size(struct store *s, int64_t id, int64_t *ret_size,
                                               struct err *err);

/* store_group_load; on a shared store it is locked for the transaction. */
MUST_CHECK enum err_code store_group_hold(struct store *s, int64_t id, struct arena *arena,
                                          struct stored_group *ret, struct err *err);

/* Those that exist, in any order. */
MUST_CHECK enum err_code store_groups_load(struct store *s, const int64_t *ids, size_t n,
                                           store_group_fn *on_group, void *ctx, struct err *err);

MUST_CHECK enum err_code store_group_of_key(struct store *s, struct slice key, struct arena *arena,
                                            struct stored_group *ret, struct err *err);

/* The open group of that kind and name that the job or request has opened. */
MUST_CHECK enum err_code store_group_opened(struct store *s, int64_t opener, struct slice kind,
                                            struct slice name, struct arena *arena,
                                            struct stored_group *ret, struct err *err);

/* Adds an open group without members.  *ret_added false: another server was faster. */
MUST_CHECK enum err_code store_group_add(struct store *s, const struct stored_group *group,
                                         bool *ret_added, struct err *err);

/* Adds the root to a new store. */
MUST_CHECK enum err_code store_group_add_root(struct store *s, struct err *err);
MUST_CHECK enum err_code store_group_remove(struct store *s, int64_t id, struct err *err);

/* Writes node, state, flags, finaliser, work, place, ended_at, gone_at and finally. */
MUST_CHECK enum err_code store_group_set(struct store *s, const struct stored_group *group,
                                         struct err *err);
MUST_CHECK enum err_code store_group_set_data(struct store *s, int64_t id, struct slice data,
                                              int64_t version, struct err *err);

/* What a batch adds to a group. */
struct group_delta {
    int64_t id;
    struct group_counts counts;
    unsigned set, clear; /* flags */
    bool stirs;          /* a member may have to be held or cancelled */
    bool walks;          /* all its members are to be looked at */
    bool joined;         /* a request chose the group: it must be open */
};

/* Locks the groups, sorted by id, on a shared store. */
MUST_CHECK enum err_code store_groups_lock(struct store *s, const int64_t *ids, size_t n,
                                           struct arena *arena, struct err *err);

/* Adds up to GROUPS_COUNTED deltas of different groups, sorted by id, and calls back for each group
 * that may have ended or must be stopped.  *ret_counted: number of groups that are open. */
enum { GROUPS_COUNTED = 500 };
MUST_CHECK enum err_code store_groups_count(struct store *s, const struct group_delta *deltas,
                                            size_t n, struct arena *arena, int64_t *ret_counted,
                                            store_group_fn *on_due, void *ctx, struct err *err);

/* Whether one of the groups, sorted by id, is missing, has ended or is cancelled. */
MUST_CHECK enum err_code store_groups_any_closed(struct store *s, const int64_t *ids, size_t n,
                                                 struct arena *arena, bool *ret_any,
                                                 struct err *err);

/* ---- who opened them ---- */

typedef void store_id_fn(void *ctx, int64_t id);

/* Open groups that the job or request may still add to: at most GROUPS_COUNTED.  Those beyond are
 * marked as work; *ret_more: there are some. */
MUST_CHECK enum err_code store_groups_of_opener(struct store *s, int64_t opener, store_id_fn *on_id,
                                                void *ctx, bool *ret_more, struct err *err);

/* The requests of a server are over; -1: of all servers. */
MUST_CHECK enum err_code store_groups_leave(struct store *s, int64_t node, struct err *err);

/* Shared stores: the requests of dead servers are over. */
MUST_CHECK enum err_code store_groups_leave_dead(struct store *s, struct err *err);

/* ---- work ---- */

/* The next one above an id that has work; ret->id 0: none. */
MUST_CHECK enum err_code store_groups_work_next(struct store *s, int64_t above, struct arena *arena,
                                                struct stored_group *ret, struct err *err);

/* Writes how far the work about a group is, unless work or flags are not as they were. */
MUST_CHECK enum err_code store_group_step(struct store *s, const struct stored_group *was, int work,
                                          int64_t place, struct err *err);

/* Living members above an id, in order; at most `limit`. */
MUST_CHECK enum err_code store_group_members(struct store *s, int64_t group, int64_t above,
                                             size_t limit, int64_t *ret_ids, size_t *ret_n,
                                             struct err *err);

/* The same for ended members. */
MUST_CHECK enum err_code store_group_results(struct store *s, int64_t group, int64_t above,
                                             size_t limit, int64_t *ret_ids, size_t *ret_n,
                                             struct err *err);

/* Open child groups above an id, in order; at most `limit`. */
MUST_CHECK enum err_code store_group_children(struct store *s, int64_t group, int64_t above,
                                              size_t limit, store_group_fn *on_group, void *ctx,
                                              struct err *err);

/* Open groups that are paused, cancelled or stopped themselves. */
MUST_CHECK enum err_code store_groups_held(struct store *s, store_group_fn *on_group, void *ctx,
                                           struct err *err);

/* ---- lists and retention ---- */

struct groups_wanted {
    struct slice kind; /* data NULL: any */
    int64_t parent;    /* 0: any */
    enum group_state state;
    int64_t below; /* only smaller ids */
    int limit;
};

/* Newest first, without the root and provisional ones. */
MUST_CHECK enum err_code store_groups_list(struct store *s, const struct groups_wanted *filter,
                                           store_group_fn *on_group, void *ctx, struct err *err);

/* Ended groups whose time has come; at most `limit`. */
MUST_CHECK enum err_code store_groups_gone(struct store *s, int64_t now_at, size_t limit,
                                           int64_t *ret_ids, size_t *ret_n, struct err *err);

/* When the next one is to be removed; 0: none. */
MUST_CHECK enum err_code store_groups_gone_next(struct store *s, int64_t *ret_at, struct err *err);

/* ---- kinds ---- */

struct stored_kind {
    int64_t id;
    struct slice name;
    struct slice definition; /* canonical JSON: core/group/group_def.h */
};

typedef void store_kind_fn(void *ctx, const struct stored_kind *kind);

/* ret->id 0: none. */
MUST_CHECK enum err_code store_kind_find(struct store *s, struct slice name, struct arena *arena,
                                         struct stored_kind *ret, struct err *err);
MUST_CHECK enum err_code store_kind_put(struct store *s, const struct stored_kind *kind,
                                        struct err *err);
MUST_CHECK enum err_code store_kind_remove(struct store *s, int64_t id, struct err *err);

/* By name, after `above`; at most `limit`. */
MUST_CHECK enum err_code store_kinds_list(struct store *s, struct slice above, size_t limit,
                                          store_kind_fn *on_kind, void *ctx, struct err *err);

/* Direct members that wait; 0 when there is no such group. */
MUST_CHECK enum err_code store_group_waiting(struct store *s, int64_t id, int64_t *ret_n,
                                             struct err *err);
