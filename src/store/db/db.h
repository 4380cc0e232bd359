/*
 * The interface between the store and a database: named statements, many at a time.
 *
 * A call names a statement of the .sql files, its arguments and a function for its rows.  db_run
 * carries out an array of calls in order: SQLite one after the other, PostgreSQL in a pipeline.
 * Expected refusals show in `changed` or in the rows, never as SQL errors; after an error the
 * transaction must be rolled back.
 *
 * Each database is a driver: a table of functions, with structs that begin with `struct db` and
 * `struct db_row`.  A connection belongs to one thread; only `away` is read by other threads.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "store/sql.h"
#include "store/store.h"

struct db_driver;

struct db {
    const struct db_driver *driver;
    atomic_bool away; /* the database is unreachable; any thread may read it */
    /* What the last error was; until the next begin. */
    bool conflict;               /* a conflict with another server: roll back and run again */
    bool busy;                   /* a lock timeout */
    bool refused;                /* a refused signature: its signer is no longer a member */
    bool commit_unknown;         /* the connection was lost in a commit: ask the database */
    struct store_damage *damage; /* where bad rows are noted; may be NULL */
    char flaw[160];              /* why a row was refused; empty: none was */
    int64_t statements;          /* since it was opened */
    int64_t rounds;              /* how often it waited for answers */
};

struct db_row {
    const struct db_driver *driver;
    struct db *db;
};

enum db_type { DB_NULL, DB_INT, DB_TEXT, DB_BLOB, DB_ROWS };

struct db_rows;

struct db_value {
    enum db_type type;
    int64_t i;
    struct slice s;
    const struct db_rows *rows;
};

/* An array of rows as one argument: the statement works on the whole set.  Its values are
 * values[row * n_columns + column], none of them DB_ROWS. */
struct db_rows {
    const struct db_value *values;
    size_t n_rows;
    size_t n_columns;
};

static inline struct db_value db_r(const struct db_rows *rows)
{
    return (struct db_value){.type = DB_ROWS, .rows = rows};
}

static inline struct db_value db_i(int64_t i)
{
    return (struct db_value){.type = DB_INT, .i = i};
}

/* NULL when the slice is empty: an absent text. */
static inline struct db_value db_t(struct slice s)
{
    return (struct db_value){.type = s.size == 0 ? DB_NULL : DB_TEXT, .s = s};
}

/* NULL when the slice's data is NULL. */
static inline struct db_value db_b(struct slice s)
{
    return (struct db_value){.type = s.data == NULL ? DB_NULL : DB_BLOB, .s = s};
}

typedef void db_row_fn(void *ctx, const struct db_row *row);

struct db_call {
    enum sql sql;
    const struct db_value *args; /* borrowed until db_run returns */
    size_t n_args;
    db_row_fn *on_row; /* NULL: rows are not wanted */
    void *ctx;
    int64_t changed; /* out: rows inserted, updated or deleted */
};

/* Later: db_sync makes the commit durable.  A database may ignore it and sync now. */
enum db_sync { DB_SYNC_NOW, DB_SYNC_LATER };

enum db_close {
    DB_CLOSE_PLAIN,
    DB_CLOSE_CLEAN
}; /* clean: with what a writer does last, like a checkpoint */

/* Functions that a database does not need are NULL. */
struct db_driver {
    enum err_code (*run)(struct db *db, struct db_call *calls, size_t n, struct err *err);
    /* Carries out a call whose rows and count are not needed.  An error may show later, at the
     * latest in the commit. */
    enum err_code (*post)(struct db *db, struct db_call *call, struct err *err);
    enum err_code (*begin)(struct db *db, struct err *err);
    enum err_code (*commit)(struct db *db, enum db_sync when, struct err *err);
    enum err_code (*sync)(struct db *db, struct err *err); /* any thread */
    bool (*owes_sync)(struct db *db);                      /* any thread */
    void (*rollback)(struct db *db); /* does nothing outside of a transaction */
    void (*close)(struct db *db, enum db_close how);

    int64_t (*col_int)(const struct db_row *row, int column);
    struct slice (*col_text)(const struct db_row *row, int column);
    struct slice (*col_blob)(const struct db_row *row, int column);
    bool (*col_null)(const struct db_row *row, int column);

    /* Runs all migrations above the store's version; a reader runs none.  E_UNAVAILABLE when the
     * store is newer than this program. */
    enum err_code (*migrate)(struct db *db, int *ret_version, struct err *err);
    /* E_UNAVAILABLE when the open files were removed or replaced.  Any thread. */
    enum err_code (*in_place)(struct db *db, struct err *err);
    /* Size, free space and path; the caller adds the version. */
    enum err_code (*facts)(struct db *db, struct store_facts *ret_facts, struct err *err);
    /* The database's own check of its files; one call for each finding. */
    enum err_code (*check)(struct db *db, enum store_check how, store_finding_fn *on_finding,
                           void *ctx, struct err *err);
    enum err_code (*backup)(struct db *db, const char *path, struct err *err);
    enum err_code (*shrink)(struct db *db, int pages, struct err *err);
};

/* Columns of the current row.  Texts and bytes are valid until the callback returns. */
static inline int64_t db_col_int(const struct db_row *row, int column)
{
    return row->driver->col_int(row, column);
}

static inline struct slice db_col_text(const struct db_row *row, int column)
{
    return row->driver->col_text(row, column);
}

/* data is NULL when the value is NULL */
static inline struct slice db_col_blob(const struct db_row *row, int column)
{
    return row->driver->col_blob(row, column);
}

static inline bool db_col_null(const struct db_row *row, int column)
{
    return row->driver->col_null(row, column);
}

/* For row functions: no server writes such a row, so the store is damaged.  db_query fails with
 * this text (bad_row) after it has read all rows; the transaction can continue. */
void db_row_refuse(const struct db_row *row, const char *fmt, ...) PRINTF_LIKE(2, 3);

MUST_CHECK static inline enum err_code db_run(struct db *db, struct db_call *calls, size_t n,
                                              struct err *err)
{
    db->statements += (int64_t)n;
    db->rounds++;
    return db->driver->run(db, calls, n, err);
}

MUST_CHECK enum err_code db_begin(struct db *db, struct err *err);
MUST_CHECK enum err_code db_commit(struct db *db, enum db_sync when, struct err *err);

/* Makes a commit durable whose sync was left for later.  E_UNAVAILABLE when that failed: whether
 * the commit survives is unknown until the database is opened again, and until then no other
 * succeeds.  Any thread, as the next. */
MUST_CHECK enum err_code db_sync(struct db *db, struct err *err);

/* A commit awaits db_sync, or that has failed. */
bool db_owes_sync(struct db *db);
void db_rollback(struct db *db);

/* db may be NULL. */
void db_close(struct db *db, enum db_close how);

/* Arguments written in place. */
struct db_args {
    const struct db_value *values;
    size_t n;
};

#define DB_ARGS(...)                                          \
    ((struct db_args){(const struct db_value[]){__VA_ARGS__}, \
                      sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value)})

/* Carries out a statement without waiting for it: db_do(db, SQL_X, err, db_i(1), db_t(name)).  A
 * failure may show later, at the latest in the commit. */
#define db_do(db, sql_, err, ...) db_post(db, sql_, DB_ARGS(__VA_ARGS__), err)

MUST_CHECK enum err_code db_post(struct db *db, enum sql sql, struct db_args args, struct err *err);

/* Carries out one call and waits for it.  Fails with err->bad_row after a row was refused. */
MUST_CHECK enum err_code db_query(struct db *db, struct db_call *call, struct err *err);

/* The same, with a function for each row.  Rows that become structs have db_find and db_each
 * (db/columns.h). */
#define db_rows(db, sql_, fn, ctx_, err, ...) \
    db_call_rows(db, sql_, DB_ARGS(__VA_ARGS__), &(struct db_reader){(fn), (ctx_)}, err)

struct db_reader {
    db_row_fn *on_row;
    void *ctx;
};

MUST_CHECK enum err_code db_call_rows(struct db *db, enum sql sql, struct db_args args,
                                      const struct db_reader *reader, struct err *err);

/* The same; *ret_changed is the number of rows that were inserted, updated or deleted. */
#define db_change(db, sql_, ret_changed, err, ...) \
    db_call_change(db, sql_, DB_ARGS(__VA_ARGS__), ret_changed, err)

MUST_CHECK enum err_code db_call_change(struct db *db, enum sql sql, struct db_args args,
                                        int64_t *ret_changed, struct err *err);

/* The number in the first column of the only row; 0 when it is NULL or there is no row. */
#define db_number(db, sql_, ret_number, err, ...) \
    db_call_number(db, sql_, DB_ARGS(__VA_ARGS__), 0, ret_number, err)

/* The same; *number stays as it is when there is no row. */
#define db_number_if(db, sql_, number, err, ...) \
    db_call_number(db, sql_, DB_ARGS(__VA_ARGS__), *(number), number, err)

MUST_CHECK enum err_code db_call_number(struct db *db, enum sql sql, struct db_args args,
                                        int64_t if_none, int64_t *ret_number, struct err *err);

/* The numbers in the first column of all rows, of which the caller has limited the number. */
#define db_numbers(db, sql_, ret_numbers, ret_n, err, ...) \
    db_call_numbers(db, sql_, DB_ARGS(__VA_ARGS__), ret_numbers, ret_n, err)

MUST_CHECK enum err_code db_call_numbers(struct db *db, enum sql sql, struct db_args args,
                                         int64_t *ret_numbers, size_t *ret_n, struct err *err);

/* Whether there is a row. */
#define db_exists(db, sql_, ret_exists, err, ...) \
    db_call_exists(db, sql_, DB_ARGS(__VA_ARGS__), ret_exists, err)

MUST_CHECK enum err_code db_call_exists(struct db *db, enum sql sql, struct db_args args,
                                        bool *ret_exists, struct err *err);
