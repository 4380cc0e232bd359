/*
 * Programs: a process for each task (the exec carrier).
 *
 * A program runs in a slot's directory with the job's environment; its output goes to the task's log, its
 * lines on descriptor 3 to the task's account.  When it has ended, whatever else it started is killed
 * before its task is settled and the slot is free.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "worker/slot.h"
#include "worker/spawn.h"
#include "worker/task.h"

/* Starts what the task's queue, or the job itself, says.  On failure the task is as before; *ret_own: the
 * job is to blame, not the queue. */
MUST_CHECK enum err_code program_start(struct task *t, bool *ret_own, struct err *err);

/* What is the same for every program of a queue: limits, user, mask, directory. */
struct spawn program_spawn(const struct worker *w, const struct offer *f, const struct slot *slot);

/* A slot for a program of that queue, made ready for a job. */
MUST_CHECK enum err_code program_slot(struct worker *w, struct offer *f, struct slot_job *job,
                                      struct slot **ret_slot, struct err *err);

/* Ends what runs of the job from an attempt that was lost, on this machine. */
MUST_CHECK enum err_code end_earlier_run(struct task *t, struct err *err);
