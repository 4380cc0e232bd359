/*
 * What the files of the store share: the open store itself.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "store/damage.h"
#include "store/db/db.h"
#include "store/jobs/ready_cache.h"
#include "store/shared.h"

struct store {
    struct db *db;
    enum store_mode mode;
    int version;
    bool shared;       /* reached by a URL: others work on it, too */
    char *url;         /* the same without its password, for people; NULL: embedded */
    char *damage_path; /* embedded: what was found, for people, until a full check; else NULL */
    struct store_damage *damage;
    bool unclean; /* the last writer did not stop cleanly */
    bool broken;  /* a commit failed for good: do not claim a clean stop */

    /* of a shared store, see store_shared.c */
    struct store_seat seat;
    int64_t incarnation; /* of this server on its node */
    int64_t batch;       /* the last that was signed */
    bool is_member;
    bool sole;                      /* of the transaction: there is no other server */
    struct ready_cache ready_cache; /* ready jobs, see store_held.h */
    bool outcome_lost;              /* of the last commit, for good */
    atomic_bool stops;              /* nobody waits for an outcome any more */
    int patience_ms;                /* of the next transactions, for a lock; 0: the session's */
    int64_t round_us; /* how long the last question to the database took that began a transaction */
    bool conflict;    /* the store's own judgement that somebody else was faster */
};

/* The signature was refused, and the commit with it.  Returns an error that says so. */
enum err_code shared_refused(struct store *s, struct err *err);

/* What became of a commit whose connection was lost: E_OK when it happened.  Waits until the database tells. */
MUST_CHECK enum err_code shared_outcome(struct store *s, struct err *err);

/* What was read cannot be: noted, logged when it is the first, and E_INTERNAL with bad_row. */
enum err_code store_damaged(struct store *s, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* What DIR/damage says first; false: nothing. */
bool store_read_damage(const struct store *s, char ret_text[static DAMAGE_TEXT_SIZE]);

/* Ids as a set of rows with one column. */
struct db_rows store_id_rows(const int64_t *ids, size_t n, struct arena *arena);

/* The index in `ids`, which are sorted, of the id in the row's first column.  False: a bad row. */
bool store_row_place(const struct db_row *row, const int64_t *ids, size_t n, size_t *ret_place);
