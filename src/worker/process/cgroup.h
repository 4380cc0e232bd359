/*
 * One cgroup (v2) for each job: no process of the job can leave it.
 *
 * Where a cgroup is delegated to the worker (systemd's Delegate=yes, a cgroup of the worker's own
 * user, or WAYBILL_CGROUP_ROOT) each job gets one below it.  At the end of the job everything in it
 * is killed; after a kill -9 of the worker, the next worker of its name does that.  Where the
 * memory controller is available, a job with a memory limit gets one in any case: the limit holds
 * for all its processes together, and they are killed together when they pass it.  Where neither is
 * possible, cgroup_open says why; the process tree (tree.h) and an rlimit (spawn.h) are used
 * instead.
 *
 * One thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cgroup;

/* `root`: the directory for the cgroups; NULL: WAYBILL_CGROUP_ROOT, else the worker's own
 * cgroup.  `name`: of the worker; cgroups that an earlier worker of that name left are killed
 * and removed.  E_UNAVAILABLE: cgroups cannot be used, the message says why. */
MUST_CHECK enum err_code cgroup_open(const char *root, const char *name, struct cgroup **ret_cgroup,
                                     struct err *err);
void cgroup_close(struct cgroup *c); /* accepts NULL */

/* Whether all jobs get a cgroup, and whether memory can be limited. */
bool cgroup_is_for_all(const struct cgroup *c);
bool cgroup_limits_memory(const struct cgroup *c);

struct cgroup_job {
    int procs_fd; /* for struct spawn; -1: there is no cgroup */
    unsigned number;
    bool limited; /* with a memory limit */
};

#define CGROUP_JOB_INIT ((struct cgroup_job){.procs_fd = -1})

/* `number`: of the slot, unique at any time.  `memory`: 0 for no limit.  E_UNAVAILABLE. */
MUST_CHECK enum err_code cgroup_job_open(struct cgroup *c, unsigned number, int64_t memory,
                                         struct cgroup_job *ret_job, struct err *err);

/* A process in it was killed for passing the memory limit. */
bool cgroup_job_was_full(const struct cgroup *c, const struct cgroup_job *job);

/* Kills every process in it. */
void cgroup_job_kill(const struct cgroup *c, const struct cgroup_job *job);

/* Removes it.  While a process in it is still dying, later calls of open and close try again. */
void cgroup_job_close(struct cgroup *c, struct cgroup_job *job);
