/*
 * A SQLite VFS wholly in memory that can lose its power, kill its process and break its disk.
 *
 * A power cut leaves of every file what was synced and any part of what was not, torn at sectors;
 * it may undo creations and deletions whose directory was not synced.  A kill leaves everything
 * that was written.  After either, connections that are still open get errors and change nothing:
 * close them, then open new ones.  The same seeds give the same bytes.
 *
 * WAL with shared memory, rollback journals, locks and several connections in one process (also in
 * several threads) work as on a real disk.  The functions below are for one thread at a time.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct powercut;

enum powercut_io {
    POWERCUT_WRITE,
    /* a write or a truncation that needs new room; counted apart from WRITE as well */
    POWERCUT_GROW,
    POWERCUT_SYNC,
    POWERCUT_TRUNCATE,
    POWERCUT_DELETE,
    POWERCUT_IO_COUNT
};

/* Registers a VFS of that name, with an empty disk. */
struct powercut *powercut_new(const char *name, uint64_t seed);

/* The same with a copy of the disk, what is stable of it and what is not. */
struct powercut *powercut_copy(const char *name, const struct powercut *from);

/* False when there are connections that were not closed: then the memory stays.  NULL is fine. */
bool powercut_free(struct powercut *p);

const char *powercut_name(const struct powercut *p);

void powercut_kill(struct powercut *p);
void powercut_cut(struct powercut *p, uint64_t seed);

/* How many there were since the beginning. */
int64_t powercut_count(const struct powercut *p, enum powercut_io io);

/* From now on, the nth (from 1) of that kind and the `times - 1` after it fail with an SQLite code.
 * A write that fails may have arrived in part.  What a failed sync should have made stable is
 * partly lost for good, though readers see it: so Linux does.  One plan at a time. */
struct powercut_plan {
    enum powercut_io io;
    int64_t nth;
    int64_t times;
    int code;
};

#define POWERCUT_FOR_EVER INT64_MAX

void powercut_fail(struct powercut *p, const struct powercut_plan *plan);
void powercut_heal(struct powercut *p);
int64_t powercut_failed(const struct powercut *p); /* how many the plan has failed */

/* Called before each write, sync, truncation and deletion takes effect, with no lock held.  It may
 * kill the process or cut the power: then the operation does not take effect. */
typedef void powercut_watch_fn(void *ctx, enum powercut_io io);
void powercut_watch(struct powercut *p, powercut_watch_fn *fn, void *ctx);

/* The files as they are, for tests that damage them by hand.  False when there is no such file. */
bool powercut_peek(struct powercut *p, const char *file, int64_t offset, void *data, int64_t size);
bool powercut_poke(struct powercut *p, const char *file, int64_t offset, const void *data,
                   int64_t size);
int64_t powercut_size(struct powercut *p, const char *file); /* -1: no such file */
