/*
 * Memory limits by cgroup v2, where its memory controller can be used.
 *
 * Each job that has a limit gets a group of its own below the worker's: all its processes together
 * are held to the limit, and are killed together when they pass it.  Where this cannot be had,
 * cgroup_open says why and the caller sets the rlimit of spawn.h instead.
 *
 * One thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cgroup;

/* `root`: the directory below which groups are made; NULL: WAYBILL_CGROUP_ROOT, else the worker's
 * own group. `name` of the worker: groups of that name that are still there are killed and
 * removed.  E_UNAVAILABLE: it cannot be used, the message says why. */
MUST_CHECK enum err_code cgroup_open(const char *root, const char *name, struct cgroup **ret_cgroup,
                                     struct err *err);
void cgroup_close(struct cgroup *c); /* accepts NULL */

struct cgroup_job {
    int procs_fd; /* for struct spawn; -1: none was made */
    unsigned number;
};

#define CGROUP_JOB_INIT ((struct cgroup_job){.procs_fd = -1})

/* `number`: of the slot, no two at once.  E_UNAVAILABLE. */
MUST_CHECK enum err_code cgroup_job_open(struct cgroup *c, unsigned number, int64_t memory,
                                         struct cgroup_job *ret_job, struct err *err);

/* Something in it was killed because memory was out. */
bool cgroup_job_was_full(const struct cgroup *c, const struct cgroup_job *job);

/* Kills all in it. */
void cgroup_job_kill(const struct cgroup *c, const struct cgroup_job *job);

/* Removes it; while something in it is still dying, with one of the next calls of open and close. */
void cgroup_job_close(struct cgroup *c, struct cgroup_job *job);
