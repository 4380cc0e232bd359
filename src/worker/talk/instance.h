/*
 * The instance of a worker: tells two processes of one name apart.
 *
 * Each start makes a random instance and writes it to STATE/instance before the first claim is
 * sent: the server may have accepted an instance although its process died before it read the
 * reply.  The file holds the last instances, newest first, and the directory's device and inode.
 * The directory is locked by its worker, so whoever reads the file knows that all earlier instances
 * in it are dead; in a copy of the directory the inode differs, and the file is ignored.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/err.h"

enum {
    INSTANCE_SIZE = 33,
    INSTANCE_PREVIOUS_MAX = 16, /* starts in a row that no server has heard of, and the one before;
                                   a server accepts as many */
};

struct instance {
    char own[INSTANCE_SIZE];
    char previous[INSTANCE_PREVIOUS_MAX][INSTANCE_SIZE]; /* newest first */
    size_t n_previous;
};

/* Makes an instance and writes it to the directory.  When it cannot be written, that is logged. */
MUST_CHECK enum err_code instance_open(struct instance *i, const char *dir, struct err *err);
