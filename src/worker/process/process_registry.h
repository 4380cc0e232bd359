/*
 * The process registry, STATE/records: which processes a worker has started, for the next worker.
 *
 * The file is mapped and shared, so its contents survive however the worker ends, without a system
 * call for each job.  It is never synced: after a reboot none of these processes lives.  A reader
 * may see a record being written; the order of writes guarantees that a pid other than 0 belongs to
 * the job, lease and boot beside it.
 *
 * Truncating the file does not kill the worker: missing pages are replaced by empty ones (SIGBUS),
 * and process_registry_repair writes the file again.  Records are validated before they are used,
 * because their ids and leases are sent to a server.
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
#define PROCESS_RECORD_ENDED \
    (-1) /* as a pid: the program ended, and the server does not know it yet */
#define PROCESS_RECORD_BOOT_SIZE 40
#define PROCESS_RECORD_JOB_SIZE 32
#define PROCESS_RECORD_LEASE_SIZE 64

/* Persisted, and read by workers of other versions.  To change the layout, increment
 * REGISTRY_VERSION in process_registry.c; records of other versions are ignored. */
struct process_record {
    struct spawned process;
    int32_t session; /* session of the worker and its programs */
    int32_t unused;
    char boot[PROCESS_RECORD_BOOT_SIZE]; /* pids and times are valid for this boot only */
    char job[PROCESS_RECORD_JOB_SIZE];
    char lease[PROCESS_RECORD_LEASE_SIZE];
    char mark[PROCESS_RECORD_LEASE_SIZE]; /* WAYBILL_LEASE of its environment */
};

struct process_registry {
    void *map; /* NULL: none */
    size_t size;
    unsigned count;
    int fd;
    int64_t looked_at; /* when the file was checked last */
};

/* Opens or makes the file, with at least `count` records; existing records are kept.  E_FULL,
 * E_FORBIDDEN. */
MUST_CHECK enum err_code process_registry_open(int dir_fd, unsigned count,
                                               struct process_registry *ret, struct err *err);
void process_registry_close(struct process_registry *r);

/* Checks the file once a second.  *ret_repaired: it had been truncated or removed and was
 * written again from memory.  E_FULL, E_FORBIDDEN: it could not be; the next worker will not
 * know what runs. */
MUST_CHECK enum err_code process_registry_repair(struct process_registry *r, int dir_fd,
                                                 int64_t now_us, bool *ret_repaired,
                                                 struct err *err);
struct process_record *process_registry_at(const struct process_registry *r, unsigned i);

/* Fills a record for a process that is about to be started. */
void process_record_begin(struct process_record *r, struct slice job, struct slice lease,
                          const char *boot);
void process_record_end(struct process_record *r);

/* Another job for the same process. */
void process_record_change(struct process_record *r, struct slice job, struct slice lease);

struct process_record_list {
    VEC(struct process_record) all;
};

static inline void process_record_list_cleanup(struct process_record_list *l)
{
    VEC_DEINIT(&l->all);
}

/* Adds the records with a process of another worker's file; none when it cannot be read. */
void process_registry_copy(const char *path, struct process_record_list *list);

/* The kernel's id of the present boot. */
void boot_id(char text[static PROCESS_RECORD_BOOT_SIZE]);
