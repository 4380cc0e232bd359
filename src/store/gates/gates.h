/*
 * Gates in the store: resources, lanes, and what running jobs use of them.
 *
 * Slices of rows live in the caller's arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct store;

/* Numbers are persisted. */
enum gate_kind {
    GATE_RESOURCE = 1,
    GATE_LANE,
    GATE_SAME_NEEDS, /* a list of jobs, no gate of its own */
};

struct stored_gate {
    int64_t id;
    enum gate_kind kind;
    int64_t queue;           /* 0: of all queues */
    struct slice name;       /* of a resource, or the key of a lane */
    struct slice needs;      /* GATE_SAME_NEEDS: JSON */
    int64_t lane;            /* GATE_SAME_NEEDS: the lane of the jobs, 0: none */
    struct slice definition; /* GATE_RESOURCE: JSON */
    int64_t in_use;
    struct slice starts; /* core/gate/window.h */
    int64_t shut_until_at;
    int64_t shut_us; /* how long it was shut for; 0: until an instant */
    struct slice why;
    int64_t probe_until_at;
    struct slice probe_why;
    int64_t probed_at;
    bool wanted; /* shared stores: a server waits for slots */
};

typedef void store_gate_fn(void *ctx, const struct stored_gate *gate);

/* All resources, by name. */
MUST_CHECK enum err_code store_resources_load(struct store *s, store_gate_fn *on_gate, void *ctx,
                                              struct err *err);
MUST_CHECK enum err_code store_resources_list(struct store *s, struct slice above, size_t limit,
                                              store_gate_fn *on_gate, void *ctx, struct err *err);

/* ret->id 0: none. */
MUST_CHECK enum err_code store_resource_find(struct store *s, struct slice name,
                                             struct arena *arena, struct stored_gate *ret,
                                             struct err *err);

/* Adds a gate that is open and unused. */
MUST_CHECK enum err_code store_gate_add(struct store *s, const struct stored_gate *gate,
                                        struct err *err);
/* Adds a lane, or jobs with the same needs, unless it is there.  *ret_new: it was not; on a shared
 * store that is not asked. */
MUST_CHECK enum err_code store_lane_add(struct store *s, const struct stored_gate *gate,
                                        bool *ret_new, struct err *err);

/* The lanes of a queue that have ready jobs, each with the first of them. */
struct ready_lane {
    struct stored_gate gate;
    int64_t first; /* a job */
    int priority;
};
typedef void store_lane_fn(void *ctx, const struct ready_lane *lane);
MUST_CHECK enum err_code store_lanes_ready(struct store *s, int64_t queue, store_lane_fn *on_lane,
                                           void *ctx, struct err *err);

/* The same of these lanes. */
MUST_CHECK enum err_code store_lanes_ready_of(struct store *s, const int64_t *lanes, size_t n,
                                              store_lane_fn *on_lane, void *ctx,
                                              struct arena *arena, struct err *err);

/* The queues that have lanes. */
MUST_CHECK enum err_code store_lanes_queues(struct store *s,
                                            void (*on_queue)(void *ctx, int64_t queue), void *ctx,
                                            struct err *err);
MUST_CHECK enum err_code store_gate_define(struct store *s, int64_t id, struct slice definition,
                                           struct err *err);
MUST_CHECK enum err_code store_gate_remove(struct store *s, int64_t id, struct err *err);

/* Reads these gates; on a shared store those that no other server has locked, and locks them. */
MUST_CHECK enum err_code store_gates_hold(struct store *s, const int64_t *ids, size_t n,
                                          store_gate_fn *on_gate, void *ctx, struct arena *arena,
                                          struct err *err);

/* ret->id 0: none. */
MUST_CHECK enum err_code store_gate_find(struct store *s, int64_t id, struct arena *arena,
                                         struct stored_gate *ret, struct err *err);

/* Reads and locks one, waiting for other servers.  ret->id 0: none. */
MUST_CHECK enum err_code store_gate_lock(struct store *s, int64_t id, struct arena *arena,
                                         struct stored_gate *ret, struct err *err);

/* Writes in_use, starts and wanted of a gate that is held. */
MUST_CHECK enum err_code store_gate_write(struct store *s, const struct stored_gate *gate,
                                          struct err *err);

/* Writes shut_until_at, shut_us and why. */
MUST_CHECK enum err_code store_gate_shut(struct store *s, const struct stored_gate *gate,
                                         struct err *err);

/* The clock may have been set back: nothing is shut for longer than it was shut for. */
MUST_CHECK enum err_code store_gates_bound(struct store *s, int64_t now_at, struct err *err);

/* ---- uses ---- */

struct gate_use {
    int64_t job;
    int64_t gate;
    int64_t weight;
    int64_t started_at;
};

MUST_CHECK enum err_code store_uses_add(struct store *s, const struct gate_use *uses, size_t n,
                                        struct arena *arena, struct err *err);

/* A gate that slots come back to. */
struct gate_freed {
    int64_t gate;
    int64_t weight; /* that comes back */
    int64_t in_use; /* out: what is left */
    bool wanted;    /* out */
};

/* Removes the uses of jobs whose attempts have ended, and gives back what they used: *ret_freed has
 * the gates in the order of their ids, in the arena. */
MUST_CHECK enum err_code store_uses_end(struct store *s, const int64_t *jobs, size_t n,
                                        struct arena *arena, struct gate_freed **ret_freed,
                                        size_t *ret_n, struct err *err);

/* Whether any job uses anything. */
MUST_CHECK enum err_code store_uses_any(struct store *s, bool *ret_any, struct err *err);

typedef void store_use_fn(void *ctx, const struct gate_use *use);

MUST_CHECK enum err_code store_uses_of_job(struct store *s, int64_t job, store_use_fn *on_use,
                                           void *ctx, struct err *err);
MUST_CHECK enum err_code store_uses_of_gate(struct store *s, int64_t gate, size_t limit,
                                            store_use_fn *on_use, void *ctx, struct err *err);
