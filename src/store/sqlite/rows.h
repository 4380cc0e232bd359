/*
 * rows($1): an array of rows of ours as a table that SQLite's statements can read, so that one statement
 * works on a whole set.
 *
 *     SELECT r.c1, r.c2 FROM rows($1) AS r
 *
 * Columns are c1 to c14; what a row does not have is NULL.  The array is borrowed for the statement's run.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sqlite3.h>

#include "store/db/db.h"

enum { SQLITE_ROWS_COLUMNS = 14 };

/* Makes rows() known to a connection. */
int sqlite_rows_register(sqlite3 *handle);

int sqlite_rows_bind(sqlite3_stmt *stmt, int place, const struct db_rows *rows);
