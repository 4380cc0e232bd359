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
    bool shared;       /* has a URL: other servers use it at the same time */
    char *url;         /* without the password, for messages; NULL: embedded */
    char *damage_path; /* embedded: file with findings, until a full check; else NULL */
    struct store_damage *damage;
    bool log_lost; /* embedded readers: no writer has recorded it yet */
    bool unclean;  /* the last writer did not stop cleanly */
    bool broken;   /* a commit failed: do not mark a clean stop */

    /* of a shared store: shared.c */
    struct store_seat seat;
    int64_t incarnation; /* of this server on its node */
    int64_t batch;       /* the last signed one */
    bool is_member;
    bool sole;                      /* the only server, in this transaction */
    struct ready_cache ready_cache; /* jobs/ready_cache.h */
    bool outcome_lost;              /* of the last commit */
    atomic_bool stops;              /* nobody waits for an outcome any more */
    int patience_ms;                /* lock timeout of the next transactions; 0: the default */
    int64_t round_us;               /* round-trip time at the last begin */
    bool conflict;                  /* found by the store itself: another server was faster */
};

#define STORE_LOG_LOST                                                                         \
    "commits are missing: the write-ahead log was removed, emptied or cut off, or waybill.db " \
    "was replaced by an older copy"

/* Sets the error of a commit whose signature was refused. */
enum err_code shared_refused(struct store *s, struct err *err);

/* The outcome of a commit whose connection was lost: E_OK when it took effect.  Waits for the
 * database. */
MUST_CHECK enum err_code shared_outcome(struct store *s, struct err *err);

/* Impossible data was read: notes and logs the damage, and returns E_INTERNAL with bad_row. */
enum err_code store_damaged(struct store *s, struct err *err, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* The first line of DIR/damage; false: none. */
bool store_read_damage(const struct store *s, char ret_text[static DAMAGE_TEXT_SIZE]);

/* Ids as a set of rows with one column. */
struct db_rows store_id_rows(const int64_t *ids, size_t n, struct arena *arena);

/* The index in `ids`, which are sorted, of the id in the row's first column.  False: a bad row. */
bool store_row_place(const struct db_row *row, const int64_t *ids, size_t n, size_t *ret_place);
