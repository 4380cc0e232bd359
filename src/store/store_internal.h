/*
 * What the files of the store share: the open store itself.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "store/db.h"
#include "store/store.h"

struct store {
    struct db *db;
    enum store_mode mode;
    int version;
    bool unclean; /* the last writer did not stop cleanly */
    bool broken;  /* a commit failed for good: do not claim a clean stop */
    char *dir;
    char *path;
};

/* For single numbers: takes the first column of the (only) row. */
struct taken_int {
    int64_t value;
    bool found;
};

void take_one_int(void *ctx, const struct db_row *row);
