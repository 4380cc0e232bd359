/*
 * Locks and shared memory of the files of powercut_vfs.c, among the connections of one process.
 *
 * The lock levels are SQLite's.  Shared memory belongs to those who mapped it: the last one to
 * leave takes it along, and whoever comes after a kill or a power cut finds none.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "base/vec.h"

struct vfs_shm {
    int refs;
    VEC(void *) regions;
    int shared[SQLITE_SHM_NLOCK]; /* how many hold it; -1: one, alone */
};

struct vfs_lock {
    int readers;                     /* holders of SHARED or more */
    const struct vfs_holder *writer; /* the one above SHARED */
    struct vfs_shm *shm;
};

/* One connection's part in it. */
struct vfs_holder {
    int level;
    struct vfs_shm *shm;
    unsigned shm_shared, shm_alone; /* bits of the locks held */
};

int vfs_lock_take(struct vfs_lock *l, struct vfs_holder *h, int level);
void vfs_lock_drop(struct vfs_lock *l, struct vfs_holder *h, int level);

/* SQLITE_OK with *ret_region NULL when it is not there and not to be made. */
int vfs_shm_map(struct vfs_lock *l, struct vfs_holder *h, int region, int size, bool extend,
                void volatile **ret_region);
int vfs_shm_lock(struct vfs_holder *h, int first, int n, int flags);
void vfs_shm_unmap(struct vfs_lock *l, struct vfs_holder *h);
