/*
 * As much of libpq as job lives by plain SQL need: binary arguments, arrays, prepared statements.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <libpq-fe.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { POSTGRES_ARGS_MAX = 4 };
enum { POSTGRES_INT8 = 20, POSTGRES_TEXT = 25 }; /* types, as PostgreSQL numbers them */

struct postgres_args {
    int count;
    const char *values[POSTGRES_ARGS_MAX];
    int sizes[POSTGRES_ARGS_MAX];
    int64_t numbers[POSTGRES_ARGS_MAX]; /* in network order */
};

void postgres_args_add_number(struct postgres_args *a, int64_t v);
void postgres_args_add_array(struct postgres_args *a, const struct buf *array); /* borrowed */

/* An array of `count` elements, none of them NULL, in PostgreSQL's binary form. */
void postgres_array_begin(struct buf *to, uint32_t type, uint32_t count);
void postgres_array_add(struct buf *to, const void *data, size_t size);

/* E_INVALID when what it commits would not be durable. */
MUST_CHECK enum err_code postgres_connect(const char *url, PGconn **ret_pg, struct err *err);
MUST_CHECK enum err_code postgres_script(PGconn *pg, const char *sql, struct err *err);
MUST_CHECK enum err_code postgres_prepare(PGconn *pg, const char *name, const char *sql,
                                          struct err *err);

/* Runs a prepared statement; PQclear what it gives. */
MUST_CHECK enum err_code postgres_execute(PGconn *pg, const char *name,
                                          const struct postgres_args *args, PGresult **ret_result,
                                          struct err *err);
