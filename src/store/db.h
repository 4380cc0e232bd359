/*
 * The seam between the store and a database: named statements, sent and received many at a time.
 *
 * A call names a statement of the .sql files, its arguments and who takes its rows.  db_run carries out
 * an array of calls in order: an embedded database one after the other, a remote one in a pipeline.
 * Refusals that are expected show in `changed` or in the rows, never as SQL errors; an error means that
 * the transaction is to be rolled back.
 *
 * A connection belongs to one thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "store/sql.h"

struct db;
struct db_row;

enum db_type { DB_NULL, DB_INT, DB_TEXT, DB_BLOB, DB_ROWS };

struct db_rows;

struct db_value {
    enum db_type type;
    int64_t i;
    struct slice s;
    const struct db_rows *rows;
};

/* An array of rows as one argument: the statement works on the whole set.  values[row * n_columns + column],
 * none of them DB_ROWS. */
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

/* Columns of the row at hand.  Texts and blobs are valid until the callback returns. */
int64_t db_col_int(const struct db_row *row, int column);
struct slice db_col_text(const struct db_row *row, int column);
struct slice db_col_blob(const struct db_row *row, int column); /* data NULL when it is NULL */
bool db_col_null(const struct db_row *row, int column);

MUST_CHECK enum err_code db_run(struct db *db, struct db_call *calls, size_t n, struct err *err);

MUST_CHECK enum err_code db_begin(struct db *db, struct err *err);
MUST_CHECK enum err_code db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db);

/* One call, written in place: db_do(db, SQL_X, err, db_i(1), db_t(name)). */
#define db_do(db, sql_, err, ...) db_do_rows(db, sql_, NULL, NULL, err, __VA_ARGS__)

/* The same with a taker of rows. */
#define db_do_rows(db, sql_, fn, ctx_, err, ...)                                     \
    db_one(db, sql_, (const struct db_value[]){__VA_ARGS__},                         \
           sizeof((const struct db_value[]){__VA_ARGS__}) / sizeof(struct db_value), \
           &(struct db_taker){.on_row = (fn), .ctx = (ctx_)}, err)

struct db_taker {
    db_row_fn *on_row;
    void *ctx;
    int64_t changed; /* out */
};

MUST_CHECK enum err_code db_one(struct db *db, enum sql sql, const struct db_value *args,
                                size_t n_args, struct db_taker *taker, struct err *err);
