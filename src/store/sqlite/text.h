/*
 * SQL functions on texts that SQLite lacks.
 *
 *     STRPOS(text, part)              byte position of the part, from 1; 0: not found
 *     STORED_SIZE(table, column, id)  bytes of the text in that row; NULL when it is NULL
 *     STORED_START(table, column, id) its first 200 characters
 *
 * The last two use SQLite's incremental I/O: a column that a statement names would be loaded whole.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sqlite3.h>

/* Registers them for a connection; returns SQLite's code. */
int sqlite_text_register(sqlite3 *handle);
