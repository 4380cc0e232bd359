/*
 * The worker: claims jobs from a server and carries them out.
 *
 * A worker runs in a libuv loop of its caller, beside whatever else the caller does there.  It
 * claims no job that it cannot start, keeps the jobs it holds while the server is unreachable, and
 * delivers their results when the server is back.  Nothing that a job started outlives the job.
 *
 * Ending: worker_stop claims no more jobs, lets running ones finish until the grace period is over,
 * and hands the rest back uncounted; worker_end_now hands back at once.  Then `on_stopped` is
 * called, after which worker_free may be.
 * One thread, the loop's; one worker per process, because it reaps all children and adopts orphans.
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
#define WORKER_LIFETIME_MIN_US INT64_C(1000000) /* the server's bounds */
#define WORKER_LIFETIME_MAX_US (10000 * 86400 * INT64_C(1000000))

struct worker;

/* How an attempt of this worker has ended, after the server has accepted it. */
struct worker_end {
    struct slice id;
    struct slice key;         /* of the job, may be empty */
    struct slice params;      /* JSON object */
    enum job_outcome outcome; /* of this attempt: DONE FAILED LATER … */
    bool ended;               /* false: the job will be tried again */
    bool exited;
    int exit; /* status, or -N for signal N */
    enum job_cause cause;
    struct slice text;
    struct slice output; /* what the program printed, as its log keeps it */
    struct slice errors; /* with `errors_apart`: standard error */
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

/* A queue in the worker's own file: used instead of the server's definition. */
struct worker_own_queue {
    struct slice name;
    struct slice definition; /* canonical JSON */
};

struct worker_config {
    struct client_config client;
    const char *data_dir; /* its state is in workers/NAME below; NULL: the default */
    const char *name;     /* NULL: the host's name */
    const char *work_dir; /* programs run here; NULL: each in the directory of its slot */

    const char *const *queues; /* to serve; none: all that have a command */
    size_t n_queues;
    int slots; /* maximum programs at once; 0: the number of cores */
    const struct worker_own_queue *own;
    size_t n_own;
    bool own_only;  /* serves only queues of `own` */
    bool announces; /* logs when it is connected */

    /* Topics to subscribe to.  Each gets a queue at the server for this worker's name, which lasts
     * for `lifetime_us` after the last contact.  With topics and without `queues` the worker serves
     * nothing else. */
    const char *const *topics;
    size_t n_topics;
    int64_t lifetime_us;

    bool errors_apart; /* standard error is kept apart, behind the output; needs on_end */
    int64_t grace_us;
    int64_t lease_us;
    struct worker_hooks hooks;
};

/* Copies what it needs of the config, and ends what an earlier worker of this name left on this
 * host.  E_CONFLICT: a worker of this name runs here already.  E_INVALID, E_UNAVAILABLE: see the
 * message. */
MUST_CHECK enum err_code worker_new(uv_loop_t *loop, const struct worker_config *config,
                                    struct worker **ret_worker, struct err *err);

void worker_stop(struct worker *w);

/* As worker_stop, without a limit on how long running jobs may take. */
void worker_drain(struct worker *w);
void worker_end_now(struct worker *w);

/* The server is gone for good: kills all programs and stops, without telling anybody.  The next
 * worker of this name reports these jobs as lost. */
void worker_abandon(struct worker *w);

/* After on_stopped, or before the loop has run.  The memory is freed when the loop runs next. */
void worker_free(struct worker *w);

/* Limits starts to that many in `per_us`, evenly spaced; 0: no limit. */
void worker_set_rate(struct worker *w, int64_t starts, int64_t per_us);

/* Runs a worker in a loop of its own until it is told to end: by TERM or INT (a second signal ends
 * it at once), or by the end of `parent_fd`, whose other side the parent holds (-1: none). */
MUST_CHECK enum err_code worker_run(const struct worker_config *config, int parent_fd,
                                    struct err *err);
