/*
 * Real processes for tests: a directory, shell scripts in it, and the certainty that none is left.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "worker/process/spawn.h"
#include "worker/process/tree.h"

#define DEADLINE_US (20 * INT64_C(1000000))

extern char test_dir[64]; /* absolute, without links */

/* Makes the directory; SIGCHLD is blocked, so that waiting for it misses none. */
int process_setup(void **state);

/* Removes the directory and fails when the test has children left. */
int process_teardown(void **state);

/* Text of a path in the directory, good until the 8th call after. */
const char *in_dir(const char *name);
void write_text(const char *name, const char *text, mode_t mode);
/* "" when there is no such file; good until the next call. */
const char *read_text(const char *name);

/* A shell that runs the script in the directory: output in the file `out`, environment `env`
 * (NULL: PATH). */
struct spawn shell(const char *script, char *const *env);
void shell_done(struct spawn *s); /* closes what `shell` opened */

/* Starts it and stops the test when that fails. */
struct spawned start_shell(const char *script, char *const *env);

/* Waits until the file is there and ends in a line end; returns its text. */
const char *await_text(const char *name);
pid_t await_pid(const char *name);

/* A process that is there and has not ended. */
bool is_running(pid_t pid);
void await_gone(pid_t pid);

/* Waits for a SIGCHLD, or some milliseconds. */
void await_child_signal(void);

/* Waits for the end of a child that is in no tree; status as of waitpid. */
int await_exit(pid_t pid);

/* Kills all children, adopted ones too, until none is left. */
void kill_children(void);
