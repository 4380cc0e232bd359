/*
 * What the files of the store share: the open store itself.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "store/db.h"
#include "store/store_held.h"
#include "store/store_shared.h"

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
    bool sole;         /* of the transaction: there is no other server */
    struct held held;  /* ready jobs, see store_held.h */
    bool outcome_lost; /* of the last commit, for good */
    bool conflict;     /* the store's own judgement that somebody else was faster */
};

/* The signature was refused, and the commit with it.  Returns an error that says so. */
enum err_code shared_refused(struct store *s, struct err *err);

/* What became of a commit whose connection was lost: E_OK when it happened.  Waits until the database tells. */
MUST_CHECK enum err_code shared_outcome(struct store *s, struct err *err);

/* For single numbers: takes the first column of the (only) row. */
struct taken_int {
    int64_t value;
    bool found;
};

void take_one_int(void *ctx, const struct db_row *row);
