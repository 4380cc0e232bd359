/*
 * What powercut_vfs.c and powercut_file.c share: the disk with its lock, and an open file on it.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <sqlite3.h>

#include "base/compiler.h"
#include "powercut_disk.h"
#include "powercut_lock.h"
#include "powercut_vfs.h"

struct powercut {
    sqlite3_vfs vfs;
    char *name;
    pthread_mutex_t lock; /* over all below */
    struct disk disk;
    struct rng rng;
    int64_t counts[POWERCUT_IO_COUNT];
    struct powercut_plan plan; /* nth 0: none.  Counts down to 0 … */
    int64_t plan_left;         /* … and then these fail */
    int64_t failed;
    int handles;
    int dead_handles;   /* of processes that are no more, still to be closed */
    int64_t generation; /* of processes: a handle of an older one is dead */
    powercut_watch_fn *watch;
    void *watch_ctx;
};

struct vfs_file {
    sqlite3_file base;
    struct powercut *owner;
    struct disk_file *file;
    struct vfs_holder holder;
    int64_t generation;
    bool sync_names; /* the next sync makes the directory stable too */
    bool delete_on_close;
};

extern const sqlite3_io_methods powercut_file_methods;

static inline void hold(const struct powercut *p)
{
    ASSERT(pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&p->lock) == 0);
}

static inline void let_go(const struct powercut *p)
{
    ASSERT(pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&p->lock) == 0);
}

/* Tells whoever watches that an operation is about to take effect; no lock is held. */
void powercut_tell(struct powercut *p, enum powercut_io io);

/* Counts one of that kind: SQLITE_OK, or the code it fails with.  The lock is held. */
int powercut_gate(struct powercut *p, enum powercut_io io);
