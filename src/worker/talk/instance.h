/*
 * Which process of its name a worker is: a random instance for each start, and the one before it in the same directory.
 *
 * STATE/instance holds the instance that the server has let in last, and the number of the directory.  That is locked by its
 * worker: whoever reads it knows that the one before is dead, unless it reads a copy, which has another number.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum { INSTANCE_SIZE = 33, PLACE_SIZE = 48 };

struct instance {
    char own[INSTANCE_SIZE];
    char previous[INSTANCE_SIZE]; /* "" when there is none to come after */
    char place[PLACE_SIZE];       /* of the directory */
    char *path;
    bool kept; /* the directory knows the own one */
};

MUST_CHECK enum err_code instance_open(struct instance *i, const char *dir, struct err *err);
void instance_close(struct instance *i);

/* The server has let it in: the next worker in this directory comes after it.  A failure is logged. */
void instance_keep(struct instance *i);
