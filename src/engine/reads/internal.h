/*
 * What the files of queries share: the names behind numbers, as one query sees them.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/vec.h"
#include "engine/batch/names.h"
#include "engine/reads/query.h"
#include "store/queues.h"

struct query_view {
    struct store *store;
    struct arena arena;
    VEC(struct stored_queue) queues;
    VEC(struct stored_worker) workers;
    struct names served; /* queues that a live worker serves */
    struct names broken; /* queue to struct broken_queue: workers that cannot start its program */
    struct map groups;   /* by id: struct stored_group, in the arena */
    int64_t now_at;
};

struct broken_queue {
    const struct stored_worker *worker;
    struct slice text; /* why */
    struct broken_queue *next;
};

/* NULL: it is gone. */
const struct stored_queue *view_queue(const struct query_view *v, int64_t id);
const struct stored_queue *view_queue_named(const struct query_view *v, struct slice name);
enum err_code view_queue_unknown(const struct query_view *v, struct slice name, enum err_code code,
                                 struct err *err);
struct slice view_queue_name(const struct query_view *v, int64_t id);
struct slice view_worker_name(const struct query_view *v, int64_t id);

bool view_worker_lives(const struct query_view *v, const struct stored_worker *w);

/* Whether a live worker takes jobs of that queue. */
bool view_is_served(const struct query_view *v, struct slice queue);

/* The live workers that cannot start its program; NULL: there are none. */
const struct broken_queue *view_broken(const struct query_view *v, struct slice queue);

/* Where that worker runs, for people. */
struct slice worker_place(const struct stored_worker *w);

MUST_CHECK enum err_code view_take_workers(struct query_view *v, struct err *err);

/* One function for each kind of query: query_job, query_jobs, … */
typedef enum err_code query_fn(struct query_view *v, struct query *q, struct err *err);

#define QUERY_FUNCTION(kind, function, names) query_fn query_##function;
QUERY_KINDS(QUERY_FUNCTION)
#undef QUERY_FUNCTION

/* Sets E_NOT_FOUND: there is no such job. */
enum err_code query_no_job(int64_t id, struct err *err);

/* The number of the queue of that name, unchanged when the name is empty; E_INVALID. */
MUST_CHECK enum err_code query_find_queue(const struct query_view *v, struct slice name,
                                          int64_t *ret_queue, struct err *err);

/* A job as lists show it, with a comma before it where one is needed. */
MUST_CHECK enum err_code query_add_listed(struct query_view *v, struct query *q, int64_t id,
                                          struct err *err);

/* Adds "dropped" and "keys_kept" of the queue (drops.c). */
MUST_CHECK enum err_code view_add_filters(struct query_view *v, struct buf *b, int64_t queue,
                                          struct err *err);

/* Which gate keeps a ready job from starting, and until when.  (resources.c) */
struct gate_reason {
    const char *code; /* NULL: none */
    char text[500];
    int64_t until_at; /* 0: unknown */
};
MUST_CHECK enum err_code query_gate_reason(struct query_view *v, const struct stored_queue *q,
                                           const struct job *j, struct gate_reason *ret,
                                           struct err *err);

/* last_line.c */
MUST_CHECK enum err_code query_add_last_line(struct buf *b, struct query_view *v,
                                             const struct job *j, struct err *err);
