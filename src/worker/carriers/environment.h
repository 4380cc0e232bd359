/*
 * The environment of a program: the worker's own without its secrets, and the variables about the
 * job that docs/programs.md documents.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "worker/process/spawn.h"
#include "worker/run/task.h"

/* The worker's environment without WAYBILL_…; ends in NULL. */
char **environment_base(struct arena *arena);

struct environment_of {
    char *const *base;
    const char *server_url; /* WAYBILL_URL */
    const char *job_file;
    const struct spawn_user *user; /* NULL: the worker's */
    const char *workdir;           /* PWD; NULL: not set */
    struct slice queue_env;        /* JSON object of strings, or empty; overrides the worker's */
    struct slice job_env;          /* the same; overrides the queue's */
};

/* In the task's arena; ends in NULL. */
char **environment_make(const struct environment_of *of, struct task *t);

/* For a resident program, which gets its jobs later.  `mark` is its WAYBILL_LEASE, by which its
 * processes are found. */
char **environment_of_resident(const struct environment_of *of, struct slice queue,
                               struct slice mark, struct arena *arena);
