/*
 * The instance of a worker: tells two processes of one name apart.
 *
 * Each start makes a random instance.  STATE/instance holds the last instance that the server has
 * accepted, and the directory's device and inode.  The directory is locked by its worker, so
 * whoever reads the file knows that the previous instance is dead; in a copy of the directory the
 * inode differs, and the file is ignored.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum { INSTANCE_SIZE = 33, PLACE_SIZE = 48 };

struct instance {
    char own[INSTANCE_SIZE];
    char previous[INSTANCE_SIZE]; /* "" when none is known */
    char place[PLACE_SIZE];       /* device and inode of the directory */
    char *path;
    bool kept; /* STATE/instance has the own one */
};

MUST_CHECK enum err_code instance_open(struct instance *i, const char *dir, struct err *err);
void instance_close(struct instance *i);

/* The server has accepted this instance: writes it to STATE/instance.  A failure is logged. */
void instance_keep(struct instance *i);
