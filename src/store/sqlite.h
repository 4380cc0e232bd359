/*
 * SQLite behind the seam of db.h, and what only an embedded database has: files, checks, backups.
 *
 * WAL with synchronous=FULL: a commit that returned is on stable storage.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "store/db.h"
#include "store/store.h"

struct sqlite_config {
    const char *path;
    const char *vfs;
    bool read_only;
    int64_t read_limit_us; /* 0: none */
};

MUST_CHECK enum err_code sqlite_db_open(const struct sqlite_config *config, struct db **ret_db,
                                        struct err *err);

/* Closes the connection; with `checkpoint` the WAL is folded in and left empty. */
enum sqlite_close { SQLITE_CLOSE_PLAIN, SQLITE_CLOSE_CHECKPOINT };
void sqlite_db_close(struct db *db, enum sqlite_close how);

/* Runs all migrations above the store's version, each in a transaction of its own; read-only, none.
 * E_UNAVAILABLE when the store is newer than all we know. */
MUST_CHECK enum err_code sqlite_db_migrate(struct db *db, int *ret_version, struct err *err);

/* PRAGMA quick_check or integrity_check, a finding a line. */
MUST_CHECK enum err_code sqlite_db_check(struct db *db, enum store_check how,
                                         store_finding_fn *on_finding, void *ctx, struct err *err);

MUST_CHECK enum err_code sqlite_db_backup(struct db *db, const char *path, struct err *err);

/* Gives up to `pages` free pages back to the file system.  Outside of transactions. */
MUST_CHECK enum err_code sqlite_db_shrink(struct db *db, int pages, struct err *err);

struct sqlite_pages {
    int64_t page_size, page_count, free_count;
};

MUST_CHECK enum err_code sqlite_db_pages(struct db *db, struct sqlite_pages *ret, struct err *err);
