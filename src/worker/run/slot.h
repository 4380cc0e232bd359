/*
 * Slots: the places in which programs run, in STATE, the directory of one worker on one machine.
 *
 *   STATE/lock               held while the worker lives; contains its pid
 *   STATE/records            the process registry (process_registry.h), one record per slot
 *   STATE/slots/N/dir        working directory of the program in slot N
 *   STATE/slots/N/job.json   its job
 *   STATE/trash              directories with too many entries to be emptied at once
 *
 * A directory is reused while it exists and is empty.  What a program left in it is removed when
 * the slot is released; a large directory is moved to the trash instead, for slots_empty_trash.
 * Links are not followed, mounts are not entered.
 *
 * One thread.  Only slots_open may take long.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "worker/process/process_registry.h"
#include "worker/process/spawn.h"

#define SLOT_COUNT_MAX 3840
#define SLOT_ENDS_MAX 256 /* records of ends that the server does not know yet */

_Static_assert(SLOT_COUNT_MAX + SLOT_ENDS_MAX <= PROCESS_REGISTRY_MAX, "each has a record");

struct slots;

struct slot {
    unsigned number;
    const char *dir;               /* absolute */
    const char *job_path;          /* absolute */
    struct process_record *record; /* in the registry; spawn_start writes record->process */
};

/* Makes missing directories (0711), takes the lock, and keeps the records of an earlier worker
 * for stale_processes_kill.  E_CONFLICT: a worker of that name runs here already.  E_FULL,
 * E_FORBIDDEN, E_INVALID. */
MUST_CHECK enum err_code slots_open(const char *state_dir, unsigned count, struct slots **ret_slots,
                                    struct err *err);
void slots_close(struct slots *s); /* accepts NULL; programs must have ended */
static inline void slots_cleanup(struct slots **s)
{
    slots_close(*s);
}

const char *slots_state_dir(const struct slots *s);
const char *slots_boot(const struct slots *s);

/* Includes the records of an earlier worker that had more slots. */
const struct process_registry *slots_registry(const struct slots *s);

/* The free slot that was used last; NULL: all are taken. */
struct slot *slot_take(struct slots *s);

struct slot_job {
    struct slice id;
    struct slice lease;
    struct slice json;             /* the whole job */
    const struct spawn_user *user; /* owner of directory and file; NULL: the worker's user */
};

/* Prepares the directory, the job file and the record, without its process.  After an error the
 * slot is still taken.  E_FULL, E_FORBIDDEN, E_INVALID. */
MUST_CHECK enum err_code slot_prepare(struct slots *s, struct slot *slot,
                                      const struct slot_job *job, struct err *err);

/* The program and all that it started have ended: clears the record and empties the directory. */
void slot_release(struct slots *s, struct slot *slot);

/* Records, for the next worker, that a program has ended and that the server does not know it
 * yet; process_record_end clears the record.  NULL: no record is free. */
struct process_record *slots_note_end(struct slots *s, struct slice job, struct slice lease);

/* Writes the registry again if it was truncated or removed, and logs that. */
void slots_repair(struct slots *s, int64_t now_us);

/* Removes up to `most` entries of the trash; true: call again. */
bool slots_empty_trash(struct slots *s, unsigned most);
