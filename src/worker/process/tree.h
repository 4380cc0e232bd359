/*
 * The process tree: everything that jobs have started, watched, signalled and killed.
 *
 * The worker is a subreaper, so every process that loses its parent becomes its child.  Such an
 * orphan belongs to the job whose id and lease are in its environment, else to the job in whose
 * group or directory it is, else to any job that ran when it started: then it is killed when none
 * of these jobs is left.
 *
 * Every child counts as a job's program or an orphan and is reaped, except for children from before
 * tree_new and spared ones.  A pid is signalled only while it cannot be reused: own children before
 * they are reaped, others through a pidfd after comparing their start.
 *
 * Main thread only, the one that calls spawn_start.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"
#include "worker/process/spawn.h"

struct tree;
struct tree_event;

typedef void tree_event_fn(void *ctx, const struct tree_event *event);

/* A program of a job, in the caller's storage from tree_add to tree_remove. */
struct tree_job {
    const char *id; /* borrowed; WAYBILL_ID of its processes; NULL: the lease alone identifies it */
    const char *lease; /* borrowed; NULL: none.  Jobs of one claim share it */
    const char *dir;   /* borrowed; NULL: none of its own */
    tree_event_fn
        *on_event; /* for the caller's tree_event_fn, with `owner`; the tree uses neither */
    void *owner;

    /* the tree's */
    pid_t pid;
    uint64_t start_ticks;
    uint64_t serial;
    bool exited; /* and reaped */
    bool ending;
};

enum tree_event_kind { TREE_EXITED, TREE_KILLED, TREE_STOPPED, TREE_CONTINUED };

struct tree_event {
    struct tree_job *job;
    enum tree_event_kind kind;
    int status;          /* exit status, or the signal */
    struct rusage usage; /* of it and its reaped children; EXITED and KILLED only */
};

MUST_CHECK enum err_code tree_new(struct tree **ret_tree, struct err *err);
void tree_free(struct tree *t); /* accepts NULL; kills nothing */
static inline void tree_cleanup(struct tree **t)
{
    tree_free(*t);
}

/* Right after spawn_start.  The pid is not yet reaped. */
void tree_add(struct tree *t, struct tree_job *job, const struct spawned *started);
void tree_remove(struct tree *t, struct tree_job *job);

/* A child of other code in this process: the tree neither signals nor reaps it. */
void tree_spare(struct tree *t, pid_t pid);

/* Call it after every SIGCHLD.  When a program has ended, its group is killed before it is
 * reaped; then `fn` is called, which may add and remove jobs. */
void tree_reap(struct tree *t, tree_event_fn *fn, void *ctx);

/* Signals all processes of the job, and continues stopped ones so that they can react. */
void tree_signal(struct tree *t, struct tree_job *job, int sig);

/* Kills all processes of the job, and orphans that no other job can have started.  Returns how
 * many are left; if not 0, call it again after the next SIGCHLD or in some milliseconds.  The
 * program itself counts until tree_reap has reported its end. */
unsigned tree_end(struct tree *t, struct tree_job *job);

/* The same for all jobs and orphans: before the process exits. */
unsigned tree_end_all(struct tree *t);
