/*
 * What the files of the store share: the open store itself.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "store/db.h"
#include "store/store_shared.h"

/* A ready job that this transaction holds and that is as it was made: what a claim tells of it. */
struct held_job {
    int64_t queue;
    int priority;
    bool known; /* what it carries is little, and here */
    struct slice key, params, labels, options;
};

struct store {
    struct db *db;
    enum store_mode mode;
    int version;
    bool shared;  /* reached by a URL: others work on it, too */
    char *url;    /* the same without its password, for people; NULL: embedded */
    bool unclean; /* the last writer did not stop cleanly */
    bool broken;  /* a commit failed for good: do not claim a clean stop */

    /* of a shared store, see store_shared.c */
    struct store_seat seat;
    int64_t incarnation; /* of this server on its node */
    int64_t batch;       /* the last that was signed */
    bool is_member;
    struct map held; /* by id: struct held_job, until the next transaction */
    struct arena held_arena;
    bool outcome_lost; /* of the last commit, for good */
    bool conflict;     /* the store's own judgement that somebody else was faster */
};

/* What became of a commit whose connection was lost: E_OK when it happened.  Waits until the database tells. */
MUST_CHECK enum err_code shared_outcome(struct store *s, struct err *err);

/* For single numbers: takes the first column of the (only) row. */
struct taken_int {
    int64_t value;
    bool found;
};

void take_one_int(void *ctx, const struct db_row *row);
