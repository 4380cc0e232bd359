/*
 * The SQLite driver (db/db.h), with the files, checks and backups of an embedded database.
 *
 * WAL with synchronous=FULL: a commit that returned is on stable storage.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "store/db/db.h"

struct sqlite_config {
    const char *path;
    const char *vfs;
    bool read_only;
    int64_t read_limit_us; /* 0: none */
    struct store_damage *damage;
    bool empty_log;  /* checkpoint and truncate the log while opening */
    bool may_be_new; /* a database without tables has lost nothing, whatever its mark says */
};

MUST_CHECK enum err_code sqlite_db_open(const struct sqlite_config *config, struct db **ret_db,
                                        struct err *err);

/* Commits are missing, found before the migrations ran: see wal_mark.h. */
bool sqlite_log_is_lost(const struct db *db);
