/*
 * The places in which programs run: STATE, the directory that one worker keeps on one machine.
 *
 *   STATE/lock               held as long as the worker lives; its pid
 *   STATE/records            which processes it has started, one record a slot, mapped: so they
 *                            survive a KILL of the worker without a system call a job
 *   STATE/slots/N/dir        working directory of the program in slot N
 *   STATE/slots/N/job.json   its job
 *   STATE/trash              directories that were too full to be emptied at once
 *
 * A directory is used again while it is still there and empty.  What a program left in it is
 * removed when the slot is released, a little at once: a large rest is moved to the trash, for
 * slots_empty_trash.  Links are not followed, mounts are not entered.
 *
 * One thread.  No call but slots_open takes long.
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
#define SLOT_ENDS_MAX 256 /* ends that are known to nobody else yet */

_Static_assert(SLOT_COUNT_MAX + SLOT_ENDS_MAX <= PROCESS_REGISTRY_MAX, "each has a record");

struct slots;

struct slot {
    unsigned number;
    const char *dir;               /* absolute; the slot's */
    const char *job_path;          /* absolute; the slot's */
    struct process_record *record; /* mapped; give &record->process to spawn_start */
};

/* Makes what is not there (directories 0711), takes the lock and keeps the records of an earlier
 * worker for stale_processes_kill.  E_CONFLICT: a worker of that name runs here already.  E_FULL,
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

/* All there are: also those of an earlier worker that had more slots. */
const struct process_registry *slots_registry(const struct slots *s);

/* A free slot, the one used last first; NULL when all are taken. */
struct slot *slot_take(struct slots *s);

struct slot_job {
    struct slice id;
    struct slice lease;
    struct slice json;             /* of the whole job */
    const struct spawn_user *user; /* whose directory and file will be; NULL: the worker's */
};

/* Makes the directory and the job file ready and fills the record but for the process, which
 * spawn_start writes.  After an error the slot is still taken.  E_FULL, E_FORBIDDEN, E_INVALID. */
MUST_CHECK enum err_code slot_prepare(struct slots *s, struct slot *slot,
                                      const struct slot_job *job, struct err *err);

/* Its program and all that it started are gone: forgets the process, empties the directory. */
void slot_release(struct slots *s, struct slot *slot);

/* A program has run to its end, which the server does not know yet: the next worker learns of it, unless
 * process_record_end is called before.  NULL: there is no room for more. */
struct process_record *slots_note_end(struct slots *s, struct slice job, struct slice lease);

/* Writes the records anew if somebody has truncated or removed them, and says so in the log. */
void slots_repair(struct slots *s, int64_t now_us);

/* Removes up to `most` entries of the trash.  True when something is left that can be removed:
 * call again. */
bool slots_empty_trash(struct slots *s, unsigned most);
