/*
 * Gates as the engine holds them: resources and lanes, what is in use of them, who waits for them.
 *
 * The definition of a resource is in memory as queues are.  Its state (`known`) is a copy of its
 * row: on an embedded store it stays until a batch fails, on a shared store it is valid for the
 * batch that has locked the row.  A batch changes the copy, and writes it before its commit.
 *
 * Whoever ends an attempt, its slots come back in the same commit (gates_release): weights are
 * those of `gate_uses`, so neither a changed definition nor a dead worker makes them drift.
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/gate/gate.h"
#include "core/gate/resource_def.h"
#include "core/gate/window.h"
#include "core/time/zone.h"
#include "engine/batch/names.h"
#include "store/gates/gates.h"

struct access;
struct engine;
struct line;

/* What a resource is. */
struct resource {
    char *json;
    struct arena arena; /* of def */
    struct resource_def def;
    struct zone zone;
    struct gate_rules rules;
    bool is_broken; /* it cannot be used here: it never opens */
};

struct gate {
    int64_t id;
    enum gate_kind kind;
    char *name;
    struct resource *resource;      /* NULL: a lane */
    const struct gate_rules *rules; /* the resource's, or those of all lanes of the queue */

    bool known;          /* the members below are as in the store */
    bool held_elsewhere; /* of the batch: another server judges it */
    bool changed;        /* of the batch: to be written */
    int64_t in_use;
    struct window window;
    struct gate_shut shut, probe; /* texts are owned */
    bool wanted;                  /* shared stores: the row says that a server waits */

    VEC(struct access *) waiting; /* who was refused by it: see gating.h */
    VEC(struct line *) parked;    /* of a lane: lines that wait for a slot of it */
    uint64_t served;              /* of a lane: the count of starts when it was served last */
    bool may_be_shut;             /* of a lane: `busy` was said of it */
    struct access *reserved_for;  /* who gets its next slots; NULL: nobody */
    int64_t reserved;             /* the weight */
};

struct gate_list {
    VEC(struct gate *) resources; /* by name */
    struct names by_name;
    struct map by_id;    /* lanes as well */
    uint64_t generation; /* grows when a resource or a queue is defined: see gating.h */
    bool in_force;       /* jobs may use gates, here or at other servers */
    uint64_t batches;    /* counts them */
    int64_t wake_at;     /* wall: when a gate opens that a claim was refused by; TIME_NEVER: none */
};

/* A picked job, until it is granted or put back. */
struct booking {
    int64_t job;
    struct line *line;
};

/* What a finish has told of a gate: carried out when slots come back. */
struct gate_told {
    int64_t gate; /* 0: the lane of the job, `line` */
    int64_t line;
    int64_t job;
    int64_t used;   /* -1: it is busy */
    int64_t for_us; /* length of the pause */
    struct slice why;
};

/* What a batch gathers. */
struct gate_batch {
    VEC(struct gate_told) told;
    bool told_locked;             /* shared stores: the gates of these are locked */
    VEC(struct booking) bookings; /* of the claim that is served, in the order of the jobs */
    VEC(struct gate *) changed;
    VEC(struct gate_use) uses; /* of granted jobs, to be written */
    VEC(struct gate *) held;   /* shared stores: not known after the batch */
};

void gates_init(struct gate_list *gates);
void gates_deinit(struct engine *e);

/* Reads all resources again; with the queues. */
MUST_CHECK enum err_code gates_load(struct engine *e, struct err *err);

/* Queues have been read or defined: whether jobs may use gates. */
void gates_heed_queues(struct engine *e);

/* Forgets states: the next look reads the store. */
void gates_forget(struct engine *e);

void gate_free(struct gate *g);
struct gate *gate_add_resource(struct engine *e, int64_t id, struct slice name, struct slice json);
void gate_redefine(struct gate *g, struct slice json);
void gate_remove_resource(struct engine *e, struct gate *g);

struct gate *gate_find(const struct engine *e, struct slice name); /* NULL: no such resource */
struct gate *gate_by_id(const struct engine *e, int64_t id);       /* NULL: not in memory */

/* The state in the form that core/gate judges. */
struct gate_state gate_state_of(const struct gate *g);

/* Makes the states of these gates known; on a shared store `held_elsewhere` of those that another
 * server judges. */
MUST_CHECK enum err_code gates_hold(struct engine *e, struct gate *const *gates, size_t n,
                                    struct err *err);

/* The state becomes that of the row. */
void gate_take_state(struct engine *e, struct gate *g, const struct stored_gate *row);

void gate_set_shut(struct gate *g, int64_t until_at, struct slice why);

/* A start of that weight; and takes one back that did not come about. */
void gate_book(struct engine *e, struct gate *g, int64_t weight);
void gate_unbook(struct engine *e, struct gate *g, int64_t weight);
void gate_note_changed(struct engine *e, struct gate *g);

/* Phase: slots of attempts that have ended in this batch come back. */
MUST_CHECK enum err_code gates_release(struct engine *e, struct err *err);

/* Phase: writes what claims have booked. */
MUST_CHECK enum err_code gates_write(struct engine *e, struct err *err);

/* The batch is over. */
void gates_clear(struct engine *e);

/* Whoever waits for it may try again. */
void gate_news(struct engine *e, struct gate *g);

/* A gate may have opened by time: claims that wait are looked at. */
void gates_wake(struct engine *e);

/* Wall: when that is next, while claims wait; TIME_NEVER: never. */
int64_t gates_next_at(const struct engine *e);

/* Fills a resource of a stored definition. */
MUST_CHECK enum err_code resource_open(struct resource *r, struct slice json, struct err *err);
void resource_close(struct resource *r);
