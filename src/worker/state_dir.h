/*
 * STATE, the directory of one worker on one machine: made, locked, kept open.
 *
 * Directories made here let others pass, but not look: programs of other users must reach theirs.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct state_dir {
    char *path; /* absolute, without links */
    int fd;
    int lock_fd; /* the lock is held as long as it is open */
};

#define STATE_DIR_INIT ((struct state_dir){.fd = -1, .lock_fd = -1})

/* E_CONFLICT: a worker of that name runs here already. */
MUST_CHECK enum err_code state_dir_open(const char *path, struct state_dir *ret_state,
                                        struct err *err);
void state_dir_close(struct state_dir *s);

/* Makes a directory in it, if it is not there, and opens it. */
MUST_CHECK enum err_code state_dir_part(const struct state_dir *s, const char *name, int *ret_fd,
                                        struct err *err);

/* One that is there already stays as it is. */
bool state_make_passable(int dir_fd, const char *name);

/* The error of errno: E_FULL, E_FORBIDDEN, else E_INVALID. */
enum err_code state_refuse(struct err *err, const char *what, const char *path);
