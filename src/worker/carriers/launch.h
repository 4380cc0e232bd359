/*
 * Starting a program by a plan: what the program carrier and residents have in common.
 *
 * A program gets a slot (its directory and its record), pipes, a cgroup where there is one, and the
 * user and limits of its plan.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "worker/carriers/may_run.h"
#include "worker/process/cgroup.h"
#include "worker/run/channel.h"
#include "worker/run/slot.h"

struct worker;

/* Takes a free slot and prepares it for the job, as the user of the plan. */
MUST_CHECK enum err_code launch_slot(struct worker *w, const struct run_plan *plan,
                                     struct slot_job *job, struct slot **ret_slot, struct err *err);

struct launch {
    const struct run_plan *plan;
    const struct slot *slot;
    const struct channel *channel;
    char **argv;
    char **envp;
    const char *search_dir; /* relative names of programs start here */
    const char *work_dir;   /* NULL: the worker's, or the slot's directory */
    int input;              /* descriptor 0; -1: /dev/null */
};

/* Starts the program in a group of its own where that is possible: *ret_cgroup, which the caller
 * closes in any case.  Errors as spawn_find and spawn_start. */
MUST_CHECK enum err_code launch_start(struct worker *w, const struct launch *l,
                                      struct cgroup_job *ret_cgroup, struct err *err);
