/*
 * The data directory: made when it is not there, and held by one server at a time.
 *
 * The lock belongs to the open file: the system takes it back when the process is gone, however it went.
 * What stands in the file (the process id) is for people.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"

struct data_dir {
    int fd;
    int lock_fd;
};

#define DATA_DIR_INIT ((struct data_dir){.fd = -1, .lock_fd = -1})

/* E_UNAVAILABLE when another process holds it; E_INVALID, E_FORBIDDEN, E_FULL for the directory. */
MUST_CHECK enum err_code data_dir_open(const char *path, struct data_dir *ret_dir, struct err *err);
void data_dir_close(struct data_dir *d);
