/*
 * STATE/records: which processes a worker has started, for the worker that comes after it.
 *
 * The file is mapped and shared: what was written is there however the worker ends.  It is never
 * synced: after a start of the machine none of these processes lives.  A reader may see a record in
 * the making; it is written so that a pid that is not 0 belongs to the job, lease and boot beside
 * it.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"
#include "worker/spawn.h"

#define RECORDS_NAME "records"
#define RECORDS_MAX 4096
#define RECORD_ENDED (-1) /* in place of a pid: it ran to its end, which was not told */
#define RECORD_BOOT_SIZE 40
#define RECORD_JOB_SIZE 32
#define RECORD_LEASE_SIZE 64

/* Persisted, and read by workers of other versions: after a change of this layout RECORDS_VERSION
 * in records.c grows, and records of another version are not believed. */
struct slot_record {
    struct spawned process;
    int32_t session; /* of the worker, which is that of its programs */
    int32_t unused;
    char boot[RECORD_BOOT_SIZE]; /* pids and times mean something until the machine starts again */
    char job[RECORD_JOB_SIZE];
    char lease[RECORD_LEASE_SIZE];
    char
        mark[RECORD_LEASE_SIZE]; /* WAYBILL_LEASE in its environment, whatever job it has in hand */
};

struct records {
    void *map; /* NULL: none */
    size_t size;
    unsigned count;
};

/* Makes room for `count`, and keeps those that are there: `ret` may have more.  E_FULL,
 * E_FORBIDDEN. */
MUST_CHECK enum err_code records_open(int dir_fd, unsigned count, struct records *ret,
                                      struct err *err);
void records_close(struct records *r);
struct slot_record *records_at(const struct records *r, unsigned i);

/* Says what is about to be started, with no process yet. */
void record_begin(struct slot_record *r, struct slice job, struct slice lease, const char *boot);
void record_end(struct slot_record *r);

/* The same process, another job. */
void record_change(struct slot_record *r, struct slice job, struct slice lease);

struct record_list {
    VEC(struct slot_record) all;
};

static inline void record_list_cleanup(struct record_list *l)
{
    VEC_DEINIT(&l->all);
}

/* Copies those with a process out of the records of another worker; none when they cannot be
 * read. */
void records_copy(const char *path, struct record_list *list);

/* The name of this run of the machine. */
void boot_id(char text[static RECORD_BOOT_SIZE]);
