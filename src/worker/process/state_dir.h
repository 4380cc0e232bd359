/*
 * STATE, the directory of one worker on one machine.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/os/own_dir.h"

struct state_dir {
    char *path; /* absolute, without links */
    struct own_dir own;
};

#define STATE_DIR_INIT ((struct state_dir){.own = OWN_DIR_INIT})

/* E_CONFLICT: a worker of that name runs here already. */
MUST_CHECK enum err_code state_dir_open(const char *path, struct state_dir *ret_state,
                                        struct err *err);
void state_dir_close(struct state_dir *s);

/* Opens a directory in it, and makes it if needed. */
MUST_CHECK enum err_code state_dir_part(const struct state_dir *s, const char *name, int *ret_fd,
                                        struct err *err);
