/*
 * A disk in memory that knows what is on stable storage: below powercut_vfs.c, for nobody else.
 *
 * Each file has two images: `now`, what a reader sees, and `stable`, what a power cut leaves for
 * sure. Between them stand the writes and truncations since the last sync, in order.  Names are the
 * same one level up: a file that was created or deleted is so for sure only after its directory was
 * synced.
 *
 * A killed process leaves `now`; a power cut leaves `stable` and any part of what stands between.
 * Either takes the files away from those who hold them open: these keep an empty one of no name.
 *
 * No locking in here: the caller has one lock for the whole disk.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/vec.h"

enum { DISK_SECTOR = 512 }; /* what a disk writes wholly or not at all */

struct disk_image {
    unsigned char *data;
    size_t size, capacity;
};

/* What changed a file: bytes at an offset, or its length. */
struct disk_change {
    int64_t offset; /* of a truncation: the new length */
    size_t size;
    unsigned char *data; /* NULL: a truncation */
};

struct disk_file {
    char *name;
    struct disk_image now, stable;
    VEC(struct disk_change) changes;
    bool named_for_sure;   /* its creation survives a power cut */
    bool deleted;          /* gone for all who look, but its directory was not synced since */
    int refs;              /* open handles, and the directory while it has it */
    struct vfs_lock *lock; /* powercut_vfs.c's own, freed with the file */
};

struct disk {
    VEC(struct disk_file *) files; /* those with a name, and the deleted that might come back */
};

void disk_init(struct disk *d);
void disk_deinit(struct disk *d);

/* The live file of that name or NULL.  The reference stays the disk's. */
struct disk_file *disk_find(const struct disk *d, const char *name);

/* An empty file of that name, which must not exist; NULL for one without a name.  The caller holds
 * a reference. */
struct disk_file *disk_create(struct disk *d, const char *name);

void disk_file_ref(struct disk_file *f);
void disk_file_unref(struct disk_file *f);

void disk_write(struct disk_file *f, int64_t offset, const void *data, size_t size);
void disk_truncate(struct disk_file *f, int64_t size);

/* At most `size` bytes; how many there were. */
size_t disk_read(const struct disk_file *f, int64_t offset, void *data, size_t size);

void disk_sync(struct disk_file *f);

/* A sync that failed: the system forgets some of what it should have written, though readers see
 * it. */
void disk_sync_lost(struct disk_file *f, struct rng *rng);

void disk_delete(struct disk *d, struct disk_file *f);
void disk_sync_names(struct disk *d);

/* What a killed process leaves: every file as it is, not more synced than before. */
void disk_kill(struct disk *d);

/* What a power cut leaves, as the dice fall. */
void disk_cut(struct disk *d, struct rng *rng);

/* Adds copies of all files of `from`, with what is stable of them and what is not. */
void disk_copy(struct disk *d, const struct disk *from);
