/*
 * A group of processes for each job, by cgroup v2: nothing that a job started can leave it.
 *
 * Where a group is delegated to the worker (systemd's Delegate=yes, a group of the worker's own user, or
 * WAYBILL_CGROUP_ROOT) each job has a group below it, and its end kills all in that, also after a
 * kill -9 of the worker, by the next one of its name.  Where the memory controller can be used, a job with a
 * limit has one in any case: all its processes together are held to it, and are killed together when they
 * pass it.  Where neither can be had, cgroup_open says why; the tree (tree.h) and the rlimit of spawn.h
 * do what they can.
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

/* Whether all jobs have a group, and whether memory can be limited. */
bool cgroup_is_for_all(const struct cgroup *c);
bool cgroup_limits_memory(const struct cgroup *c);

struct cgroup_job {
    int procs_fd; /* for struct spawn; -1: none was made */
    unsigned number;
    bool limited; /* its memory is */
};

#define CGROUP_JOB_INIT ((struct cgroup_job){.procs_fd = -1})

/* `number`: of the slot, no two at once.  `memory`: 0 for no limit.  E_UNAVAILABLE. */
MUST_CHECK enum err_code cgroup_job_open(struct cgroup *c, unsigned number, int64_t memory,
                                         struct cgroup_job *ret_job, struct err *err);

/* Something in it was killed because memory was out. */
bool cgroup_job_was_full(const struct cgroup *c, const struct cgroup_job *job);

/* Kills all in it. */
void cgroup_job_kill(const struct cgroup *c, const struct cgroup_job *job);

/* Removes it; while something in it is still dying, with one of the next calls of open and close. */
void cgroup_job_close(struct cgroup *c, struct cgroup_job *job);
