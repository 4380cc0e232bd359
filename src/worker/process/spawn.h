/*
 * Starting a program: what the child has, and nothing else.
 *
 * The program runs in a process group of its own, with default signal handlers and an empty mask,
 * with descriptors 0 to 2 and, where given, 3 and 4, and no others.  It is killed when the thread
 * that started it dies, so that thread must be the one that lives longest.
 *
 * The parent waits (microseconds) until the program has been executed or could not be: every
 * failure comes back from the call itself, with its cause, and leaves no child behind.  For a child
 * that changes its user, and can then be stopped by that user's programs, it waits 2 s at most, and
 * makes it go on meanwhile.
 *
 * Main thread only.  Of other threads nothing is asked: the child shares no lock with them.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/err.h"
#include "base/slice.h"

/* Whom a program runs as. */
struct spawn_user {
    char *name; /* as it was given */
    char *home; /* "/" when the user has none */
    uid_t uid;
    gid_t gid;
    gid_t *groups;
    int n_groups;
    bool same; /* the worker's own user, and it may not change groups: nothing is to be done */
};

void spawn_user_free(struct spawn_user *u); /* accepts NULL */

/* A name or a number.  A number that nobody has gets a group of the same number.  E_NOT_FOUND; or
 * E_FORBIDDEN when the worker may not change to it.  May ask the network where users live there. */
MUST_CHECK enum err_code spawn_user_find(struct slice name, struct spawn_user **ret_user,
                                         struct err *err);

/* 0: none.  Memory is RLIMIT_DATA: what a process has writable for itself, heap and private
 * mappings. RLIMIT_AS would count what run times only reserve, and Go, Java or node could not
 * start with it. */
struct spawn_limits {
    int64_t memory; /* bytes, each process; give 0 where a cgroup sees to it */
    int64_t cpu_us; /* rounded up to seconds: XCPU then, KILL 5 s later */
    int64_t files;
    int64_t nice; /* added to the worker's own */
};

struct spawn {
    const char *path; /* the program file: spawn_find */
    char *const *argv;
    char *const *envp;
    const char *dir; /* working directory */
    int in;          /* 0; -1: /dev/null */
    int out;         /* 1 and 2; -1: /dev/null */
    int errors;      /* 2, where `errors_apart` */
    bool errors_apart;
    int words;                     /* 3; -1: closed */
    int replies;                   /* 4; -1: closed */
    int cgroup_fd;                 /* cgroup.procs to enter; -1: none */
    const struct spawn_user *user; /* NULL: as the worker */
    struct spawn_limits limits;
    mode_t mask;        /* umask */
    int64_t soft_files; /* RLIMIT_NOFILE as the worker found it; 0: leave it */
};

/* A process that was started, known for good by its pid and when it began: the instant is between
 * the two (microseconds of the boot clock).  It may lie in memory that outlives the worker: each
 * member is written as soon as it is true, the pid by the kernel before the child's first
 * instruction. */
struct spawned {
    int32_t pid; /* 0: there is none */
    int32_t unused;
    int64_t before_us;
    int64_t after_us; /* 0: not yet known */
};

/*
 * Starts it; `started` is written also on failure, then with the pid 0.
 *
 * E_TOO_LARGE: arguments or environment are more than the system takes, the job is to blame.
 * E_UNAVAILABLE: no process or no memory can be had now, or the program was not executed in time;
 * nobody is to blame.
 * All others: this program cannot be started here: E_NOT_FOUND, E_FORBIDDEN, E_INVALID.
 */
MUST_CHECK enum err_code spawn_start(const struct spawn *s, struct spawned *started,
                                     struct err *err);

/* The file of the program `word` (free it).  A word with a slash is relative to `dir` (of the
 * definition; NULL or "" when there is none), any other is looked for in the absolute directories
 * of `path` (as PATH). E_NOT_FOUND, E_FORBIDDEN (not executable, a directory), E_INVALID. */
MUST_CHECK enum err_code spawn_find(struct slice word, const char *dir, const char *path,
                                    char **ret_path, struct err *err);
