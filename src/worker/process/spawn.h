/*
 * Starting a program with defined surroundings, and nothing else inherited.
 *
 * The program runs in its own process group, with default signal handlers, an empty signal mask,
 * descriptors 0 to 2 and, where given, 3 and 4, and no others.  It is killed when the thread that
 * started it dies, so that must be the thread that lives longest.
 *
 * The call waits (microseconds) until the program is executed or has failed to be: every failure is
 * returned with its cause and leaves no child behind.  A child that changes its user can be stopped
 * by that user's other programs: for such a child the call waits 2 s at most, and continues it
 * whenever it is stopped.
 *
 * Main thread only.  Other threads may do anything: the child shares no lock with them.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/err.h"
#include "base/slice.h"

/* The user that a program runs as. */
struct spawn_user {
    char *name; /* as it was given */
    char *home; /* "/" if the user has none */
    uid_t uid;
    gid_t gid;
    gid_t *groups;
    int n_groups;
    bool same; /* the worker's own user, and the worker may not change groups: nothing to change */
};

void spawn_user_free(struct spawn_user *u); /* accepts NULL */

/* A name or a number.  A number without an account gets the group of the same number.
 * E_NOT_FOUND; E_FORBIDDEN: the worker may not change to it.  May use the network, depending on
 * the system. */
MUST_CHECK enum err_code spawn_user_find(struct slice name, struct spawn_user **ret_user,
                                         struct err *err);

/* 0: none.  Memory is RLIMIT_DATA: heap and private writable mappings.  RLIMIT_AS would count
 * reserved addresses as well, and Go, Java or node could not start. */
struct spawn_limits {
    int64_t memory; /* bytes of each process; 0 where a cgroup limits it */
    int64_t cpu_us; /* rounded up to seconds: XCPU, and KILL 5 s later */
    int64_t files;
    int64_t nice; /* added to the worker's nice value */
};

struct spawn {
    const char *path; /* the program file, from spawn_find */
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
    int64_t soft_files; /* the worker's original RLIMIT_NOFILE; 0: unchanged */
};

/* A started process, identified by its pid and the time of its start, which is between the two
 * instants (microseconds of the boot clock).  It may be in memory that outlives the worker: each
 * member is written as soon as it is known, the pid by the kernel before the child's first
 * instruction. */
struct spawned {
    int32_t pid; /* 0: there is none */
    int32_t unused;
    int64_t before_us;
    int64_t after_us; /* 0: not yet known */
};

/*
 * Starts the program.  `started` is also written on failure, with the pid 0.
 *
 * E_TOO_LARGE: arguments or environment exceed the system's limit: the job's fault.
 * E_UNAVAILABLE: no process or memory at present, or not executed in time: nobody's fault.
 * E_NOT_FOUND, E_FORBIDDEN, E_INVALID: this program cannot be started here.
 */
MUST_CHECK enum err_code spawn_start(const struct spawn *s, struct spawned *started,
                                     struct err *err);

/* The file of the program `word` (free it).  A word with a slash is relative to `dir` (of the
 * definition; NULL or "": none); any other is searched for in the absolute directories of `path`
 * (as PATH).  E_NOT_FOUND, E_FORBIDDEN (not executable, a directory), E_INVALID. */
MUST_CHECK enum err_code spawn_find(struct slice word, const char *dir, const char *path,
                                    char **ret_path, struct err *err);
