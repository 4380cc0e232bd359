/*
 * Processes as /proc shows them, and signals that cannot hit the wrong process.
 *
 * A process is identified by its pid and the tick in which it started: the pid alone may have been
 * reused.  Everything read from /proc may be out of date at once.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/buf.h"
#include "base/slice.h"
#include "base/vec.h"

struct proc {
    pid_t pid;
    pid_t parent;
    pid_t group;
    pid_t session;
    char state; /* Z: a zombie */
    uint64_t start_ticks;
};

struct proc_list {
    VEC(struct proc) all;
};

struct pid_list {
    VEC(pid_t) all;
};

static inline void proc_list_cleanup(struct proc_list *l)
{
    VEC_DEINIT(&l->all);
}

static inline void pid_list_cleanup(struct pid_list *l)
{
    VEC_DEINIT(&l->all);
}

/* False when there is no such process. */
bool proc_find(pid_t pid, struct proc *ret_proc);

/* All visible processes; false when /proc cannot be read. */
bool proc_all(struct proc_list *list);

/* Adds the children of all threads of a process. */
void proc_children(pid_t pid, struct pid_list *list);

/* Adds the pids in the text of a `children` file. */
void proc_parse_pids(struct slice text, struct pid_list *list);

enum proc_env_state {
    PROC_ENV_READ,
    PROC_ENV_EMPTY,    /* none, overwritten, or not readable for us */
    PROC_ENV_STARTING, /* the process is just executing another program */
};

/* The environment a process was started with: `NAME=value`, each followed by NUL. */
enum proc_env_state proc_environ(pid_t pid, struct buf *out);

/* The value of a variable; data is NULL when it is not set. */
struct slice proc_env(const struct buf *env, const char *name);

/* True when its working directory is `dir` or below. */
bool proc_is_in(pid_t pid, const char *dir);

/* The tick of an instant of the boot clock. */
uint64_t proc_ticks(int64_t boot_us);

/* A pidfd of that very process, readable when it ends; -1 when it is gone. */
int proc_open(pid_t pid, uint64_t start_ticks);

/* Returns 0 or an errno: EPERM when it may not be signalled, ESRCH. */
int proc_signal(pid_t pid, uint64_t start_ticks, int sig);
