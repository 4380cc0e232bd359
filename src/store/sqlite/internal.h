/*
 * What the files of the SQLite driver share: the connection itself.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <limits.h>
#include <sqlite3.h>
#include <stdint.h>
#include <sys/types.h>

#include "store/db/db.h"
#include "store/sqlite/wal_mark.h"

struct sqlite_statement {
    sqlite3_stmt *stmt;
    int n_args;
    int *places; /* positions of $1, $2, …: SQLite numbers names in order of appearance */
};

/* The file that a name refers to. */
struct file_mark {
    dev_t dev;
    ino_t ino;
};

struct log_writer;

struct sqlite_db {
    struct db base; /* must be first */
    sqlite3 *handle;
    struct log_writer *log_writer; /* writers only */
    struct wal_mark wal_mark;      /* writers only */
    bool log_lost, may_be_new;
    char *path;
    const char *vfs;           /* by name; NULL: the default */
    struct file_mark marks[2]; /* writers only: the database and its log; .ino 0: not watched */
    int dir_fd;                /* their directory; -1: not watched */
    char log_name[NAME_MAX + 1];
    const volatile uint32_t *log_index; /* writers only: shared with all processes; NULL: none */
    struct sqlite_statement statements[SQL_COUNT];
    bool read_only;
    int64_t read_limit_us;
    int64_t read_until; /* monotonic; 0: no limit */
};

static inline struct sqlite_db *sqlite_of(struct db *db)
{
    return (struct sqlite_db *)db;
}

enum err_code sqlite_code(int rc);

/* Fills err from a result code of SQLite and returns its code. */
enum err_code sqlite_fail(struct sqlite_db *db, int rc, struct err *err);

/* Statements without results, as text: pragmas, migrations. */
MUST_CHECK enum err_code sqlite_exec(struct sqlite_db *db, const char *sql, struct err *err);

/* The first column of the last row, as a number. */
MUST_CHECK enum err_code sqlite_ask_int(struct sqlite_db *db, const char *sql, int64_t *ret,
                                        struct err *err);

/* ---- sqlite/maintenance.c ---- */

/* Remembers which files the writer has open. */
void sqlite_mark_files(struct sqlite_db *db);

/* E_UNAVAILABLE when one of them was removed, replaced or cut off: further writes would be lost.
 * Also when that cannot be told, which is no damage. */
enum err_code sqlite_in_place(struct db *base, struct err *err);

/* Somebody made the log shorter. */
bool sqlite_log_is_cut(const struct sqlite_db *db);

/* Another program has checkpointed the log, at least up to the commit of its mark. */
bool sqlite_mark_is_merged(const struct sqlite_db *db);

enum err_code sqlite_check(struct db *base, enum store_check how, store_finding_fn *on_finding,
                           void *ctx, struct err *err);
enum err_code sqlite_backup(struct db *base, const char *path, struct err *err);
enum err_code sqlite_shrink(struct db *db, int pages, struct err *err);
enum err_code sqlite_facts(struct db *base, struct store_facts *ret_facts, struct err *err);
