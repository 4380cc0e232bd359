/*
 * The local worker: a child process that speaks HTTP to us like any other worker.
 *
 * It is our own program, started as `waybill worker …` with the umask and the limit of open files
 * that we were started with, in a process group of its own, with no descriptors of ours but
 * standard error and one end of a pair of sockets: when ours is closed we are gone, however we
 * went, and it ends at once.  Over the same pair it is asked whether it is alive (heartbeat.h):
 * one that hangs is killed.  When it dies all that it left is killed (orphans.h), and it is
 * started again after a pause that grows from PAUSE_FIRST_US to PAUSE_MAX_US, and is short again
 * after a life of LIVED_US.
 *
 * Everything here belongs to the HTTP thread; its death is seen by a descriptor in that thread's
 * loop.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "server/process/heartbeat.h"
#include "server/process/orphans.h"
#include "server/threads/timers.h"
#include "server/threads/watch.h"

struct server;

#define WORKER_GRACE_S 8 /* for its running jobs, after TERM */

/* Limits that the process started with, before it raised its own. */
struct birthright {
    mode_t umask;
    struct rlimit files;
};

enum worker_child_state {
    WORKER_CHILD_NONE, /* -j 0, or not started yet */
    WORKER_CHILD_RUNNING,
    WORKER_CHILD_PAUSING,  /* it has died and is restarted soon */
    WORKER_CHILD_STOPPING, /* told to */
    WORKER_CHILD_STOPPED,
};

struct worker_child {
    struct server *server;
    struct birthright birthright;
    enum worker_child_state state;
    const char *name;
    struct watch exit;          /* the child's pidfd, or -1 */
    int lifeline;               /* our end of the pair, or -1 */
    struct heartbeat heartbeat; /* over the same */
    struct timer beat;          /* the next look at it */
    bool hung;                  /* and was killed for it */
    pid_t pid;                  /* 0: none */
    int64_t started_at;         /* by the monotonic clock */
    int64_t pause_us;           /* before the next start */
    int64_t start_at;           /* the next start, not before */
    struct orphans orphans;
    unsigned ended; /* processes that a dead one left, and that were killed */
    struct timer again;
    unsigned restarts;
};

/* Takes the limit of open files and the umask as they are. */
void worker_child_init(struct worker_child *w, struct server *server);

/* Starts it when the configuration has slots for it; the server must be listening.  A start
 * that fails is logged and tried again. */
void worker_child_begin(struct worker_child *w);

/* Sends TERM; no more restarts. */
void worker_child_stop(struct worker_child *w);

/* Closes the pair: the worker kills what it runs and exits at once. */
void worker_child_cut(struct worker_child *w);

/* Kills what is left, and waits for it. */
void worker_child_deinit(struct worker_child *w);

/* {"name","state","pid","restarts","slots"}, or null when there is none. */
void worker_child_write(const struct worker_child *w, struct buf *out);
