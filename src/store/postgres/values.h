/*
 * Values on the wire, in binary form: arguments to parameters, columns from results.
 *
 * A DB_ROWS argument of N columns becomes N array parameters, one for each column; the statement
 * gets the rows by `unnest($1, $2, …)`.  A set without rows is N empty arrays.  The server's type
 * of a parameter decides how a number is sent; texts and bytes are sent unchanged.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <libpq-fe.h>

#include "base/buf.h"
#include "store/db/db.h"

enum { PG_PARAMS_MAX = 64 };

/* The parameters of one execution; reused for the next. */
struct pg_params {
    struct buf bytes;
    size_t offsets[PG_PARAMS_MAX];
    const char *values[PG_PARAMS_MAX]; /* NULL for NULL */
    int lengths[PG_PARAMS_MAX];
    int formats[PG_PARAMS_MAX];
    int count;
};

void pg_params_init(struct pg_params *p);
void pg_params_deinit(struct pg_params *p);

/* `types` has n_types OIDs.  E_TOO_LARGE: more than the protocol can carry; E_INTERNAL: a value
 * does not match its type. */
MUST_CHECK enum err_code pg_params_set(struct pg_params *p, const struct db_call *call,
                                       const Oid *types, int n_types, struct err *err);

/* Frees memory that only a large call needed. */
void pg_params_rest(struct pg_params *p);

struct pg_row {
    struct db_row base; /* must be first */
    const PGresult *result;
    int at;
};

int64_t pg_col_int(const struct db_row *row, int column);
struct slice pg_col_text(const struct db_row *row, int column);
struct slice pg_col_blob(const struct db_row *row, int column);
bool pg_col_null(const struct db_row *row, int column);

/* Whether the functions above can read a column of that type. */
bool pg_type_is_known(Oid type);
