/*
 * A task: one job held by the worker, from the claim until the server has accepted its end.
 *
 *     WAITING ──► RUNNING ──► CLEANUP ──► SETTLING ──► ENDED ──► (gone)
 *
 * WAITING: it gets the next free slot; while programs are short, jobs are claimed a few
 * milliseconds ahead.  RUNNING: its carrier holds it, and it has a slot.  CLEANUP: its program has
 * ended, and what else it started is being killed; it still has its slot.  SETTLING: emits must be
 * delivered.  ENDED: the finish must be delivered.  When the server has given the job to another
 * worker, the task is `lost`: it is ended, and nothing more is sent for it.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"
#include "core/job/verdict.h"
#include "worker/carriers/carrier.h"
#include "worker/carriers/may_run.h"
#include "worker/run/output.h"
#include "worker/run/program_report.h"

struct async_request;
struct served_queue;
struct process_record;
struct worker;

enum task_state { TASK_WAITING, TASK_RUNNING, TASK_CLEANUP, TASK_SETTLING, TASK_ENDED };

struct task {
    struct worker *worker;
    struct served_queue *served;
    struct task *prev, *next; /* in w->tasks */
    struct task *after;       /* in w->queue */
    enum task_state state;

    /* From the claim's reply; slices point into the arena. */
    struct arena arena;
    struct slice json; /* the whole job */
    struct slice id, lease, queue;
    struct slice key, params, command, cursor;
    struct slice group;   /* id of its group, or empty */
    struct slice closes;  /* id of the group whose finaliser it is, or empty */
    struct slice limits;  /* of the job that emitted this one's command: JSON, or empty */
    struct slice workdir; /* for the job's own command, or empty */
    struct slice env;     /* for the job's own command: JSON, or empty */
    struct slice body;    /* data NULL: none */
    struct slice url;
    int attempt;
    int step; /* number of its step; 1 without a route */
    enum emit_route route;
    int64_t lost_before; /* how many attempts were lost with their worker */
    int64_t timeout_us;  /* 0: none */

    struct program_report *report;
    struct output *output;
    struct output *errors;         /* standard error, if it is kept apart and not empty; or NULL */
    struct run_plan plan;          /* from its start on */
    const struct carrier *carrier; /* while one holds it, else NULL */
    void *carried;                 /* the carrier's own */
    int64_t timeout_at;            /* steady */

    bool lost;        /* another worker has the lease */
    bool log_sent;    /* a piece of its log is under way */
    bool status_sent; /* its status is under way */
    int stopped;      /* the signal that stopped its program; 0: it runs */
    bool stop_told;   /* the server knows `stopped` */
    int64_t taken_at;
    int64_t started_at;
    int64_t ended_at;
    int64_t told_at; /* steady: when its status or log was sent last */

    struct process_record *end_record; /* while the server does not know its end */

    struct verdict_facts facts;
    struct verdict verdict;
    bool finish_sent; /* in a request under way */
    bool alone;       /* its finish was in a refused request: it is sent alone */
    int refused;      /* how often its finish was refused; 1: no words are sent, 2: no log either */
    struct async_request *emit_request; /* a batch of emits is under way */
    int64_t emit_at;                    /* steady: no earlier than this, after a failure */
};

/* Takes one job of a claim's reply.  NULL: it is malformed, which is logged. */
struct task *task_new(struct worker *w, struct slice json);
void task_free(struct task *t);

/* Cancels the task for that reason; the first reason counts.  It ends later. */
void task_stop(struct task *t, enum verdict_why why);

/* The server has given the job to another worker. */
void task_lost_lease(struct task *t);

/* Nothing of it runs any more: delivers its emits, then its finish. */
void task_settle(struct task *t);

/* Its program was stopped by that signal, or continued (0): shown in the log and the status. */
void task_note_stop(struct task *t, int signal);

/* The server has refused its finish: it becomes a failure, first without what the program has
 * said, then also without its log; after that the task is given up. */
void task_refused(struct task *t, const struct err *why);

/* Sends the next batch of emits if one is due; SETTLING becomes ENDED when all are delivered. */
void task_send_emits(struct task *t);

/* The carrier has ended it, and nothing of it runs any more: frees its slot and settles it.  The
 * task may be gone after that. */
void task_over(struct task *t, const struct carrier_end *end);

/* Cancels it when its time-out has passed; returns the steady instant to look again. */
int64_t task_check_timeout(struct task *t, int64_t now);

/* Its queue's program cannot be started here: hands the job back uncounted. */
void task_not_started(struct task *t, const char *reason);
