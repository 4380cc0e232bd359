/*
 * Programs: a process for each task (the exec carrier).
 *
 * A program runs in a slot's directory with the job's environment; its output goes to the task's log, its
 * lines on descriptor 3 to the task's report.  When it has ended, whatever else it started is killed
 * before its task is settled and the slot is free.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "core/queue/def.h"
#include "worker/process/cgroup.h"
#include "worker/process/spawn.h"
#include "worker/run/slot.h"
#include "worker/run/task.h"

/* Starts what the task's queue, or the job itself, says.  On failure the task is as before; *ret_own: the
 * job is to blame, not the queue. */
MUST_CHECK enum err_code program_start(struct task *t, bool *ret_own, struct err *err);

/* As whom a program runs, and under which limits. */
struct program_rights {
    struct queue_limits limits;
    const struct spawn_user *user; /* NULL: as the worker */
};

/* Those of a queue's programs.  E_NOT_FOUND, E_FORBIDDEN: its user. */
MUST_CHECK enum err_code program_rights_of(struct served_queue *q,
                                           struct program_rights *ret_rights, struct err *err);

/* What is the same for all programs with these rights: limits, user, mask, directory. */
struct spawn program_spawn(const struct worker *w, const struct program_rights *rights,
                           const struct slot *slot);

/* A slot for such a program, made ready for a job. */
MUST_CHECK enum err_code program_slot(struct worker *w, const struct program_rights *rights,
                                      struct slot_job *job, struct slot **ret_slot,
                                      struct err *err);

/* Its group (cgroup.h), where it is to have one; on failure it runs without. */
void program_enter_cgroup(struct worker *w, const struct slot *slot, int64_t memory,
                          struct cgroup_job *job);

/* Ends what runs of the job from an attempt that was lost, on this machine. */
MUST_CHECK enum err_code program_end_earlier_run(struct task *t, struct err *err);
