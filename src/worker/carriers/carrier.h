/*
 * Carriers: the ways to carry out a task.
 *
 * `program` starts a process for each task, `resident` hands tasks to processes that stay.  The
 * interface knows tasks and no processes: a carrier may as well send an HTTP request (webhook,
 * relay) or a message (AMQP).  may_run.c chooses the carrier of a task.
 *
 *     start ──► [cancel] ──► task_over
 *
 * From a successful start on the carrier holds the task until it calls task_over, once: with an
 * exit status where there is one; a carrier without a program says the result as an end word
 * (program_report_line).  All calls come from the loop's thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

struct task;

/* Who is to blame when a task cannot be started. */
enum carrier_blame {
    BLAME_QUEUE, /* it is broken here: the job goes back uncounted, the queue pauses */
    BLAME_JOB,   /* the attempt fails */
};

struct carrier {
    /* Begins t->plan.  The carrier keeps its own state in t->carried.  On failure nothing of it is
     * left, and *ret_blame (BLAME_QUEUE before the call) says whose fault it is.  It may call
     * task_stop, but not task_over. */
    enum err_code (*start)(struct task *t, enum carrier_blame *ret_blame, struct err *err);

    /* Ends the task soon, and by force at `kill_at` of the steady clock.  Called again with an
     * earlier instant it hurries up.  task_over follows later. */
    void (*cancel)(struct task *t, int64_t kill_at);

    /* Called in each pass of the loop while the carrier holds the task; returns when it wants to be
     * called again at the latest.  It may call task_over. */
    int64_t (*pass)(struct task *t, int64_t now);

    /* Sends replies (whole lines, may be empty) to the program, and accepts more of its words if
     * the report is not full.  NULL: there is no program that says words. */
    void (*reply)(struct task *t, struct slice lines);

    /* The task is over, or the worker is freed after everything was killed: frees what the carrier
     * holds for it. */
    void (*release)(struct task *t);
};

/* How a task ended.  Without an exit status its first end word alone decides. */
struct carrier_end {
    bool exited;
    int exit;           /* status, or -N for signal N */
    bool killed;        /* by force, by the carrier */
    bool out_of_memory; /* for passing its memory limit */
};

extern const struct carrier program_carrier;
extern const struct carrier resident_carrier;
