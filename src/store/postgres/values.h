/*
 * Values on the wire, all binary: arguments into parameters, columns out of results.
 *
 * A DB_ROWS argument of N columns becomes N array parameters in its place, one for each column, so that
 * `unnest($1, $2, …)` has the rows again.  A set without rows is N empty arrays.  What the server said a
 * parameter's type is decides how a number is sent; texts and blobs go as they are.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <libpq-fe.h>

#include "base/buf.h"
#include "store/db/db.h"

enum { PG_PARAMS_MAX = 64 };

/* The parameters of one execution; used again for the next. */
struct pg_params {
    struct buf bytes;
    size_t offsets[PG_PARAMS_MAX];
    const char *values[PG_PARAMS_MAX]; /* NULL: is NULL */
    int lengths[PG_PARAMS_MAX];
    int formats[PG_PARAMS_MAX];
    int count;
};

void pg_params_init(struct pg_params *p);
void pg_params_deinit(struct pg_params *p);

/* `types` has n_types OIDs.  E_TOO_LARGE beyond what the protocol carries, E_INTERNAL when values and types do
 * not fit together. */
MUST_CHECK enum err_code pg_params_set(struct pg_params *p, const struct db_call *call,
                                       const Oid *types, int n_types, struct err *err);

/* Gives memory back that only a large call needed. */
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
