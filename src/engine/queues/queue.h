/*
 * Queues as the engine holds them: looked up, loaded, added.
 *
 * Read from the store at open and whenever another server, or a failed batch, has changed them.
 * Engine thread only; functions that take an `err` run within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "core/queue/def.h"
#include "engine/batch/names.h"
#include "engine/claims/ready.h"

struct engine;
struct gate_list;
struct gating;

#define DEFAULT_QUEUE "default" /* built in: always exists */

struct queue {
    int64_t id;
    char *name;
    char *json; /* its definition */
    enum queue_state state;
    int streak; /* jobs that failed in a row, counted when the definition has stop_after */
    int64_t changed_at;
    int64_t restarts;
    int64_t attempt_logged_at; /* steady: when its log got a line about an attempt, 0: never */
    size_t unlogged_attempts;  /* attempts since then that got no line */
    /* Steady: when its log got a line about a missing destination, 0: never. */
    int64_t missing_dest_at;
    int64_t worker_absent_at; /* steady: since when a subscriber's worker is absent, 0: it is not */
    struct queue_def def;
    bool needs_newer;   /* defined by a newer waybill on the same store; its jobs are not started */
    struct arena arena; /* of def */
    struct ready ready;
    const struct gate_list *gates; /* all resources; NULL: none */
    struct gating *gating;         /* what its jobs need: gates/gating.h; NULL: nothing */
    uint64_t gating_generation;    /* for which that holds */
    bool has_lanes;                /* jobs of it are, or were, in lanes */
    struct map commandless; /* ready jobs without a command, if the queue has none: see pick.c */

    /* Of the batch, on shared stores. */
    size_t wanted;   /* jobs that claims of the batch may ask for */
    bool made_ready; /* some of its jobs became ready */

    /* Shared stores: other servers do not know yet that it has ready jobs. */
    bool ready_unannounced;
};

struct queue_list {
    struct queue **items;
    size_t count, capacity;
    size_t filtered; /* queues that have filters */
    struct names by_name;
    struct map by_id;
};

struct queue *queue_find(const struct engine *e, struct slice name); /* NULL: there is none */

/* The queue of a job; that of queue_new_missing when a damaged store lacks it. */
struct queue *queue_by_id(const struct engine *e, int64_t id);

/* Replaces a queue that is missing from a damaged store: accepts and starts no jobs. */
struct queue *queue_new_missing(void);
void queue_free(struct queue *q);

/* Reads all queues again.  If that fails, those in memory stay. */
MUST_CHECK enum err_code queues_load(struct engine *e, struct err *err);
void queues_free(struct engine *e);

/* The number of the definitions, as in the store: it grows with each change. */
int64_t definitions_number(const struct engine *e);

/* Forgets which jobs are ready: the next look reads the store. */
void queues_reset_ready(struct engine *e);

/* Adds a queue to the store and to memory; its definition is canonical JSON. */
MUST_CHECK enum err_code queue_add(struct engine *e, struct slice name, struct slice definition,
                                   struct err *err);

/* Adds the built-in queue to a new store. */
MUST_CHECK enum err_code queue_add_default(struct engine *e, struct err *err);

/* In memory only. */
void queue_define(struct queue *q, struct slice json);
void queue_unlist(struct engine *e, struct queue *q);

/* Sets `code` with a message that names the nearest queue. */
enum err_code queue_unknown(const struct engine *e, struct slice name, enum err_code code,
                            struct err *err);

/* Whether its jobs may be started. */
static inline bool queue_starts(const struct queue *q)
{
    return queue_state_starts(q->state) && !q->needs_newer;
}
