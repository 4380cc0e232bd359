/*
 * The write-ahead log in few, large writes.
 *
 * SQLite writes each page of a commit with two calls to the system, its head and the page.  A connection that was opened
 * through a log writer gathers them, and writes what lies together with one call: at the latest when the log is synced,
 * read, cut or closed, so that nobody who goes by the log sees a difference.  Other connections learn of a commit
 * after its sync: the connection must have synchronous=FULL, else they would look for pages that are not there yet.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sqlite3.h>

struct log_writer;

/* A VFS over the one of that name (NULL: the system's), registered under a name of its own.  NULL when there is none
 * to put it over. */
struct log_writer *log_writer_new(const char *base);

/* Its name, for sqlite3_open_v2. */
const char *log_writer_name(const struct log_writer *w);

/* After the last connection through it is closed.  Accepts NULL. */
void log_writer_free(struct log_writer *w);
