/*
 * Functions of SQL on texts that SQLite lacks.
 *
 *     STRPOS(text, part)              place of the part, from 1, in bytes; 0: it is not in it
 *     STORED_SIZE(table, column, id)  bytes of the text in that row; NULL when it is NULL
 *     STORED_START(table, column, id) its first 200 characters
 *
 * The last two read a value where it is, by SQLite's incremental I/O: a column that a statement
 * names is loaded whole.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sqlite3.h>

/* Makes them known to a connection; returns SQLite's code. */
int sqlite_text_register(sqlite3 *handle);
