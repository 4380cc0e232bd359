/*
 * STATE/records: which processes a worker has started, for the worker that comes after it.
 *
 * The file is mapped and shared: what was written is there however the worker ends.  It is never
 * synced: after a start of the machine none of these processes lives.  A reader may see a record in
 * the making; it is written so that a pid that is not 0 belongs to the job, lease and boot beside
 * it.
 *
 * Whoever truncates the file meanwhile does not end the worker: pages that are gone are replaced by empty ones
 * (SIGBUS), and process_registry_repair writes the file anew.  What is in a file is believed when it has the form of a
 * record, and no more: ids and leases of one are told to a server.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"
#include "worker/process/spawn.h"

#define PROCESS_REGISTRY_NAME "records"
#define PROCESS_REGISTRY_MAX 4096
#define PROCESS_RECORD_ENDED (-1) /* in place of a pid: it ran to its end, which was not told */
#define PROCESS_RECORD_BOOT_SIZE 40
#define PROCESS_RECORD_JOB_SIZE 32
#define PROCESS_RECORD_LEASE_SIZE 64

/* Persisted, and read by workers of other versions: after a change of this layout REGISTRY_VERSION
 * in process_registry.c grows, and records of another version are not believed. */
struct process_record {
    struct spawned process;
    int32_t session; /* of the worker, which is that of its programs */
    int32_t unused;
    char boot
        [PROCESS_RECORD_BOOT_SIZE]; /* pids and times mean something until the machine starts again */
    char job[PROCESS_RECORD_JOB_SIZE];
    char lease[PROCESS_RECORD_LEASE_SIZE];
    char mark
        [PROCESS_RECORD_LEASE_SIZE]; /* WAYBILL_LEASE in its environment, whatever job it has in hand */
};

struct process_registry {
    void *map; /* NULL: none */
    size_t size;
    unsigned count;
    int fd;
    int64_t looked_at; /* at the file, whether it is whole */
};

/* Makes room for `count`, and keeps those that are there: `ret` may have more.  E_FULL,
 * E_FORBIDDEN. */
MUST_CHECK enum err_code process_registry_open(int dir_fd, unsigned count,
                                               struct process_registry *ret, struct err *err);
void process_registry_close(struct process_registry *r);

/* Once a second it looks whether the file is whole.  *ret_repaired: somebody had truncated or removed it, and it was
 * written anew with what is left.  E_FULL, E_FORBIDDEN: it was not, the next worker will not know of what
 * runs. */
MUST_CHECK enum err_code process_registry_repair(struct process_registry *r, int dir_fd,
                                                 int64_t now_us, bool *ret_repaired,
                                                 struct err *err);
struct process_record *process_registry_at(const struct process_registry *r, unsigned i);

/* Says what is about to be started, with no process yet. */
void process_record_begin(struct process_record *r, struct slice job, struct slice lease,
                          const char *boot);
void process_record_end(struct process_record *r);

/* The same process, another job. */
void process_record_change(struct process_record *r, struct slice job, struct slice lease);

struct process_record_list {
    VEC(struct process_record) all;
};

static inline void process_record_list_cleanup(struct process_record_list *l)
{
    VEC_DEINIT(&l->all);
}

/* Copies those with a process out of the records of another worker; none when they cannot be
 * read. */
void process_registry_copy(const char *path, struct process_record_list *list);

/* The name of this run of the machine. */
void boot_id(char text[static PROCESS_RECORD_BOOT_SIZE]);
