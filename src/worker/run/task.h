/*
 * A task: one job in hand, from the claim to the server's word that its end was taken.
 *
 *     WAITING ──► RUNNING ──► CLEANUP ──► SETTLING ──► ENDED ──► (gone)
 *
 * WAITING gets a slot as soon as one is free: while programs are short, jobs are taken a few milliseconds
 * ahead.  RUNNING holds a slot, CLEANUP too: its program has ended, what else it started is being ended.
 *  SETTLING has emits to deliver, ENDED a finish.  A task that the server has given to somebody
 * else is `lost`: it is brought to its end and tells nobody.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/slice.h"
#include "core/job/verdict.h"
#include "worker/run/carrier.h"
#include "worker/run/may_run.h"
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
    struct task *prev, *next; /* of the worker's */
    struct task *after;       /* of those that wait */
    enum task_state state;

    /* What the server has said; slices live in the arena. */
    struct arena arena;
    struct slice json; /* the whole job */
    struct slice id, lease, queue;
    struct slice key, params, command, cursor;
    struct slice limits;  /* of a command that a job has emitted: JSON, or empty */
    struct slice workdir; /* of the job's own command; or empty */
    struct slice env;     /* of the job's own command: JSON, or empty */
    struct slice body;    /* data NULL: none */
    struct slice url;
    int attempt;
    int step; /* the number of its step, 1 without a route */
    enum emit_route route;
    int64_t lost_before; /* how often its worker was lost */
    int64_t timeout_us;  /* 0: none */

    struct program_report *report;
    struct output *output;
    struct output *errors; /* standard error, where it is kept apart and there was any; or NULL */
    struct run_plan plan;  /* from its start on */
    const struct carrier *carrier; /* while one holds it, else NULL */
    void *carried;                 /* the carrier's own */
    int64_t timeout_at;            /* steady */

    bool lost;        /* the lease is somebody else's */
    bool log_sent;    /* a piece of its log is under way */
    bool status_sent; /* its status is */
    int stopped;      /* the signal that its program is stopped by; 0: it runs */
    bool stop_told;   /* the server knows whether it is stopped */
    int64_t taken_at;
    int64_t started_at;
    int64_t ended_at;
    int64_t told_at; /* steady: when its status or log was told last */

    struct process_record
        *end_record; /* for the next worker, while the server does not know its end */

    struct verdict_facts facts;
    struct verdict verdict;
    bool finish_sent; /* with a request that is under way */
    bool alone;       /* it was in a request that the server refused: it goes in one of its own */
    int refused;      /* so often was its end refused: 1: told without its words, 2: and its log */
    struct async_request *emit_request; /* a batch of emits is under way */
    int64_t emit_at;                    /* steady: not before, after a failure */
};

/* Takes one job of a claim's reply.  NULL: it cannot be understood, which is logged. */
struct task *task_new(struct worker *w, struct slice json);
void task_free(struct task *t);

/* Ends what runs for it, for that reason; the first reason stays.  The end comes later. */
void task_stop(struct task *t, enum verdict_why why);

/* The server has given the job to somebody else. */
void task_lost_lease(struct task *t);

/* Nothing of it runs any more: what it has emitted is delivered, then its end. */
void task_settle(struct task *t);

/* Its program was stopped by that signal, or goes on (0): people are told. */
void task_note_stop(struct task *t, int signal);

/* The server does not take its end as it is: it is told as a failure, without what the program has said; when
 * that is refused too, without its log; then it is given up. */
void task_refused(struct task *t, const struct err *why);

/* Sends the batch of emits that is due; SETTLING becomes ENDED when all is delivered. */
void task_send_emits(struct task *t);

/* Its carrier is done with it, and nothing of it runs any more: releases it from the carrier, frees
 * its slot and settles it.  The task may be gone after that. */
void task_over(struct task *t, const struct carrier_end *end);

/* Cancels it when its time-out has passed; returns the steady instant to look again. */
int64_t task_check_timeout(struct task *t, int64_t now);

/* Its queue's program cannot be started here: the job goes back, uncounted. */
void task_not_started(struct task *t, const char *reason);
