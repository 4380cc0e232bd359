/*
 * Who may run a job here, and how: the one place that is asked.
 *
 * Of a queue: is it wanted (--queue, subscriptions), which definition counts (the worker's own
 * file before the server's; --own-only), can this version read it, does it have anything to run.
 * Of a job: its own command or the queue's, by which carrier, as which user, under which limits.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/program/template.h"
#include "core/queue/def.h"
#include "worker/carriers/carrier.h"
#include "worker/process/spawn.h"

struct served_queues;
struct task;

/* A queue's definition as it is used here, and the arena it lives in. */
struct queue_reading {
    struct slice json;
    struct queue_def def;
    struct template_command command; /* when def has one */
    struct arena arena;
};

/* `server`: the definition that the server has.  E_OK: the queue is served by *ret_reading (the
 * caller frees its arena).  E_NOT_FOUND: it is not served here, as it should be.  Other errors:
 * its definition cannot be used, for instance because it needs a newer version. */
MUST_CHECK enum err_code may_run_queue(const struct served_queues *all, struct slice name,
                                       struct slice server, struct queue_reading *ret_reading,
                                       struct err *err);

struct run_plan {
    const struct carrier *carrier;
    const struct template_command *command;
    bool own_command;  /* the job's own, not the queue's */
    bool proves_queue; /* when it starts, the queue is not broken */
    struct queue_limits limits;
    const struct spawn_user *user; /* NULL: as the worker */
    struct spawn_user *own_user;   /* owned: not the queue's user */
};

/* Fills t->plan.  E_NOT_FOUND, E_FORBIDDEN: the user; E_INVALID: no command, or a malformed one. */
MUST_CHECK enum err_code may_run_job(struct task *t, enum carrier_blame *ret_blame,
                                     struct err *err);
void run_plan_deinit(struct run_plan *p);
