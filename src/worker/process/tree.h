/*
 * Everything that jobs have started: watched, signalled, ended.
 *
 * The process is made a subreaper, so that whatever loses its parent comes to it.  Such an orphan
 * belongs to the job whose id and lease are in its environment, else to the one in whose
 * group or directory it is, else to any of the jobs that ran when it began: then it is killed when
 * none of these is left.
 *
 * Every child is taken for a job or an orphan, and reaped, unless it was there before tree_new or
 * is spared. A pid is signalled only while it cannot be reused: our own children before they are
 * reaped, others through a pidfd after a look at when they began.
 *
 * Main thread only, in which spawn_start is called too.
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

/* A program of a job: the caller's storage, from tree_add to tree_remove. */
struct tree_job {
    const char *id;    /* borrowed; WAYBILL_ID of its processes; NULL: the lease alone tells */
    const char *lease; /* borrowed; NULL: it has none.  Jobs of one claim have the same */
    const char *dir;   /* borrowed; NULL: it has none of its own */
    tree_event_fn *on_event; /* the caller's, for the ctx `owner`; the tree calls neither */
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
    struct rusage usage; /* of it and what it waited for; EXITED and KILLED only */
};

MUST_CHECK enum err_code tree_new(struct tree **ret_tree, struct err *err);
void tree_free(struct tree *t); /* accepts NULL; ends nothing */
static inline void tree_cleanup(struct tree **t)
{
    tree_free(*t);
}

/* Right after spawn_start.  The pid is not yet reaped. */
void tree_add(struct tree *t, struct tree_job *job, const struct spawned *started);
void tree_remove(struct tree *t, struct tree_job *job);

/* A child of somebody else in this process: neither signalled nor reaped here. */
void tree_spare(struct tree *t, pid_t pid);

/* To be called after every SIGCHLD.  The group of a program that has ended is killed before the
 * program is reaped; then the event is told.  The callback may add and remove jobs. */
void tree_reap(struct tree *t, tree_event_fn *fn, void *ctx);

/* A signal to all that belongs to the job; stopped ones are continued so that they can heed it. */
void tree_signal(struct tree *t, struct tree_job *job, int sig);

/* Kills all that belongs to the job, and the orphans that no other job can have started.  Returns
 * how many are still there: not 0, call it again after the next SIGCHLD or in some ms.  The
 * program itself counts until tree_reap has told its end. */
unsigned tree_end(struct tree *t, struct tree_job *job);

/* The same for all jobs and orphans: before the process exits. */
unsigned tree_end_all(struct tree *t);
