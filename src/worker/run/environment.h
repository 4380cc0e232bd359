/*
 * The environment of a program: the worker's own without its secrets, and what section "environment" of
 * docs/programs.md promises about the job.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "worker/process/spawn.h"
#include "worker/run/task.h"

/* The worker's environment without WAYBILL_…, once at its start; ends in NULL. */
char **environment_base(struct arena *arena);

struct environment_of {
    char *const *base;
    const char *server_url; /* WAYBILL_URL */
    const char *job_file;
    const struct spawn_user *user; /* NULL: the worker's */
    const char *workdir;           /* PWD; NULL: the program finds out itself */
    struct slice
        queue_env; /* JSON objects of strings, or empty: the job's counts over the queue's, */
    struct slice job_env; /* and both over what the worker has */
};

/* Lives in the task's arena; ends in NULL. */
char **environment_make(const struct environment_of *of, struct task *t);

/* Of a resident program, which is told of its jobs one by one.  `mark` stands for the lease that its
 * processes are known by. */
char **environment_of_resident(const struct environment_of *of, struct slice queue,
                               struct slice mark, struct arena *arena);
