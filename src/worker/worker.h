/*
 * The worker: claims jobs from a server and carries them out with programs.
 *
 * A worker lives in a libuv loop of its caller's, beside whatever else the caller does there.  It takes no
 * job that it cannot start, keeps what it holds while the server is away and delivers the results when
 * it is back.  Nothing that a job started outlives it.
 *
 * Ending: worker_stop takes no more, lets what runs end until the grace is over and hands the rest back
 * uncounted; worker_end_now does so at once.  Then `on_stopped` is called, and worker_free may be.
 * One thread, the loop's; one worker a process (it reaps all children and adopts orphans).
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/err.h"
#include "base/slice.h"
#include "core/job/job.h"
#include "worker/client/client.h"

#define WORKER_GRACE_US (60 * INT64_C(1000000))
#define WORKER_LEASE_US (60 * INT64_C(1000000))
#define WORKER_LIFETIME_US (7 * 86400 * INT64_C(1000000))
#define WORKER_LIFETIME_MIN_US INT64_C(1000000) /* what the server takes */
#define WORKER_LIFETIME_MAX_US (10000 * 86400 * INT64_C(1000000))

struct worker;

/* How a job that this worker carried out has ended, as the server has it now. */
struct worker_end {
    struct slice id;
    struct slice key;         /* of the job, may be empty */
    struct slice params;      /* JSON object */
    enum job_outcome outcome; /* of this attempt: DONE FAILED LATER … */
    bool ended;               /* false: the server will have it tried again */
    bool exited;
    int exit; /* status, or -N for signal N */
    enum job_cause cause;
    struct slice text;
    struct slice output; /* what the program printed, as its log keeps it */
    struct slice errors; /* with `errors_apart`: on standard error */
};

struct worker_hooks {
    void *ctx;
    void (*on_end)(void *ctx, const struct worker_end *end);
    /* An attempt has failed; the server does not know it yet.  May be NULL. */
    void (*on_failure)(void *ctx);
    /* A queue's program cannot be started here; the job went back. */
    void (*on_broken)(void *ctx, struct slice queue, const char *reason);
    void (*on_stopped)(void *ctx);
};

/* What this worker's own file says about a queue: used instead of what the server has. */
struct worker_own_queue {
    struct slice name;
    struct slice definition; /* canonical JSON */
};

struct worker_config {
    struct client_config client;
    const char *data_dir; /* where its state is kept, in workers/NAME; NULL: the default */
    const char *name;     /* NULL: the host's name */
    const char *work_dir; /* programs run here instead of in a directory of their own; or NULL */

    const char *const *queues; /* those it serves; none: all that have a command */
    size_t n_queues;
    int slots; /* programs at once; 0: one a core */
    const struct worker_own_queue *own;
    size_t n_own;
    bool own_only;  /* serves only queues of `own` */
    bool announces; /* says in the log when it is connected */

    /* Topics that it is subscribed to, under its name: each has a queue of its own at the server, which
     * lasts for `lifetime_us` after the worker was heard of.  With topics and without `queues` it serves
     * nothing else. */
    const char *const *topics;
    size_t n_topics;
    int64_t lifetime_us;

    bool
        errors_apart; /* standard error is kept apart from the output, behind it in the log; with on_end only */
    int64_t grace_us;
    int64_t lease_us;
    struct worker_hooks hooks;
};

/* Copies what it needs of the config.  Ends what an earlier worker of this name left on this host.
 * E_CONFLICT: a worker of this name runs here already.  E_INVALID, E_UNAVAILABLE: see the message. */
MUST_CHECK enum err_code worker_new(uv_loop_t *loop, const struct worker_config *config,
                                    struct worker **ret_worker, struct err *err);

void worker_stop(struct worker *w);

/* As worker_stop, with all the time that what runs takes. */
void worker_drain(struct worker *w);
void worker_end_now(struct worker *w);

/* The server is gone for good: kills what runs and stops, without telling anybody.  The next worker of this name says
 * that these jobs were lost. */
void worker_abandon(struct worker *w);

/* After on_stopped, or when it was never to run.  Memory goes when the loop has run on. */
void worker_free(struct worker *w);

/* At most so many starts in `per_us` from now on, evenly spaced; 0: no limit. */
void worker_set_rate(struct worker *w, int64_t starts, int64_t per_us);

/* A worker in a loop of its own, until it was told to end: TERM and INT stop it, a second one ends it at
 * once; so does the end of `parent_fd` (-1: none), which the parent holds the other side of. */
MUST_CHECK enum err_code worker_run(const struct worker_config *config, int parent_fd,
                                    struct err *err);
