/*
 * An active run; for the files of each only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "each/each.h"
#include "each/input.h"
#include "each/order.h"
#include "each/printed.h"
#include "each/run.h"
#include "each/show/out.h"
#include "each/show/screen.h"
#include "each/store.h"
#include "own/server.h"
#include "worker/client/async_client.h"
#include "worker/worker.h"

#define EACH_GRACE_US (5 * INT64_C(1000000))

struct each {
    struct cli *cli;
    const struct each_options *options;
    struct each_run run;
    struct own_server server;
    struct each_printed printed_lines;
    struct each_line_list live; /* lines that had not ended at the start */

    uv_loop_t loop;
    uv_timer_t tick;
    uv_timer_t halt; /* stops the worker, outside its own calls */
    uv_signal_t signals[3];
    uv_poll_t server_end; /* end of the server's standard output */
    struct async_client *client;
    struct worker *worker;
    struct each_input input;
    struct each_order order;
    struct each_out out;
    struct each_out errors;        /* standard error of the programs */
    bool is_one_output;            /* both descriptors lead to the same file, pipe or terminal */
    int results_fd;                /* --results; -1: none */
    struct async_request *reading; /* of a log, for the one whose turn it is */
    int64_t read_from;             /* where its last attempt starts */
    int64_t read_errors; /* where the standard error of that does; INT64_MAX: there is none */
    struct async_request *asking; /* for the counts */
    struct buf document;          /* of a line that has ended, with --json */

    int64_t known;  /* lines that the store had at the start */
    int64_t before; /* of those: had ended */
    int64_t failed_before;
    int64_t unrun;     /* of those: lines that --failed holds, since they have never run */
    int64_t unprinted; /* outputs that --failed leaves to an ordinary run */
    int64_t failing;   /* failed programs of this process, if there are no retries */
    int64_t done, failed, printed;
    int64_t started_at;
    int64_t news_at; /* when a job ended last */
    int64_t stop_at; /* when stopping began; 0: it has not */
    int64_t stopped_at;
    struct each_screen screen;

    struct err err; /* what ended it */
    int signal;     /* what ended it */
    int out_fault;
    bool worker_stopped;
    bool finished;
    bool halted;      /* --halt */
    bool unconfirmed; /* the queue is paused until the input is known to be the same */
    struct async_request *confirming;
};

/* Callbacks of the loop. */
struct each_hooks {
    struct each_out_hooks out;
    struct each_out_hooks errors;
    struct each_input_hooks input;
    struct worker_hooks worker;
    uv_signal_cb on_signal;
    uv_poll_cb on_server_end;
    uv_timer_cb on_tick;
};

/* Opens the run, its server and everything in the loop.  On failure nothing is in the loop. */
MUST_CHECK enum err_code each_open(struct each *e, const struct each_hooks *hooks, struct err *err);

/* Removes everything that each_open put into the loop. */
void each_close(struct each *e);
