/*
 * A directory that one process at a time works in: made when it is not there, and held by a lock.
 *
 * The lock belongs to the open file: the system takes it back when the process is gone, however it
 * went.  Its content (the process id) is for people.  Directories made here let others pass, but
 * not look: programs of other users must reach theirs.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct own_dir {
    int fd;
    int lock_fd;
    int holder; /* 0: we hold it; else the process that does, -1 when it is not known */
};

#define OWN_DIR_INIT ((struct own_dir){.fd = -1, .lock_fd = -1})

/* Makes it, with those on the way to it, opens it and tries to hold it.  `what` is what people call
 * it. */
MUST_CHECK enum err_code own_dir_open(const char *path, const char *what, const char *lock_name,
                                      struct own_dir *ret_dir, struct err *err);
void own_dir_close(struct own_dir *d);

/* The process id in a lock file; -1: none. */
int own_dir_holder(int lock_fd);

/* One that is there already stays as it is. */
bool own_dir_make(int parent_fd, const char *name);

/* E_FORBIDDEN when others than the owner may write to what is open; `what` is what people call
 * it. */
MUST_CHECK enum err_code own_check(int fd, const char *what, const char *path, struct err *err);

/* The error of errno: E_FULL, E_FORBIDDEN, else E_INVALID. */
enum err_code err_file(struct err *err, const char *what, const char *path);
