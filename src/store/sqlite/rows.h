/*
 * rows($1): an array of C rows as a table for SQLite, so that one statement works on a whole set.
 *
 *     SELECT r.c1, r.c2 FROM rows($1) AS r
 *
 * Columns are c1 to c40; missing ones are NULL.  The array is borrowed while the statement runs.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sqlite3.h>

#include "store/db/db.h"

enum { SQLITE_ROWS_COLUMNS = 40 };

/* Registers rows() for a connection. */
int sqlite_rows_register(sqlite3 *handle);

int sqlite_rows_bind(sqlite3_stmt *stmt, int place, const struct db_rows *rows);
