/*
 * What the parts of the tree share: tree.c ends, tree_orphans.c knows, tree_reap.c reaps.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "worker/process/proc.h"
#include "worker/process/tree.h"

/* A process that is no program of a job but was started by one: a child of ours that has lost its
 * parent, or a descendant, noted before its ancestors were killed so that it is known when it
 * comes to us. */
struct orphan {
    pid_t pid;
    uint64_t start_ticks;
    uint64_t serial; /* of its job; 0: not known */
    bool child;      /* of ours */
    bool seen;       /* in the last look at the children */
    bool beyond;     /* not ours to signal */
    bool settled;    /* what it says of itself is all there is */
    unsigned looks;
};

struct spared {
    pid_t pid;
    uint64_t start_ticks;
    int pidfd;
};

struct tree {
    struct map by_pid; /* the programs that are not reaped */
    VEC(struct tree_job *) jobs;
    VEC(struct orphan) orphans;
    VEC(struct spared) spared;
    struct pid_list children;
    struct buf environment;
    int children_fd; /* -1: the kernel keeps no list */
    uint64_t last_serial;
    pid_t self;
};

/* The children of ours, into t->children. */
void tree_read_children(struct tree *t);

/* A child of somebody else in this process. */
bool tree_is_spared(struct tree *t, pid_t pid);

/* All below a process: they are `serial`'s, wherever they go. */
void tree_note_descendants(struct tree *t, pid_t root, uint64_t serial);

/* The children that are nobody's program, each with its owner as far as it is known. */
void tree_look_at_children(struct tree *t);

/* Its job is over, or all that it may belong to are: those that ran when it began. */
bool tree_is_doomed(const struct tree *t, const struct orphan *o);
