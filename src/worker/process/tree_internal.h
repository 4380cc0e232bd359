/*
 * What the files of the tree share: tree.c kills, tree_orphans.c finds the owners of orphans,
 * tree_reap.c reaps.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "worker/process/proc.h"
#include "worker/process/tree.h"

/* A process that was started by a job's program: a child of ours that has lost its parent, or a
 * descendant of a program, noted before its ancestors are killed, so that its job is known when
 * it becomes our child. */
struct orphan {
    pid_t pid;
    uint64_t start_ticks;
    uint64_t serial; /* of its job; 0: unknown */
    bool child;      /* of ours */
    bool seen;       /* in the last look at the children */
    bool beyond;     /* not permitted to signal */
    bool settled;    /* its environment was read, or never will be */
    unsigned looks;
};

struct spared {
    pid_t pid;
    uint64_t start_ticks;
    int pidfd;
};

struct tree {
    struct map by_pid; /* programs that are not reaped yet */
    VEC(struct tree_job *) jobs;
    VEC(struct orphan) orphans;
    VEC(struct spared) spared;
    struct pid_list children;
    struct buf environment;
    int children_fd; /* -1: the kernel has no such file */
    uint64_t last_serial;
    pid_t self;
};

/* Reads our children into t->children. */
void tree_read_children(struct tree *t);

/* True for a child of other code in this process. */
bool tree_is_spared(struct tree *t, pid_t pid);

/* Notes all descendants of a process as belonging to `serial`. */
void tree_note_descendants(struct tree *t, pid_t root, uint64_t serial);

/* Updates the orphans: children that are no job's program, each with its job if that is known. */
void tree_look_at_children(struct tree *t);

/* Its job has ended, or all jobs that ran when it started have. */
bool tree_is_doomed(const struct tree *t, const struct orphan *o);
