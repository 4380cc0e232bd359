/*
 * The write-ahead log in few, large writes.
 *
 * SQLite writes each page of a commit with two system calls: header and page.  A connection that is
 * opened through a log writer gathers them and writes adjacent pages with one call, at the latest
 * when the log is synced, read, truncated or closed.  Other connections learn of a commit after its
 * sync: the connection must have synchronous=FULL, or they would look for pages that are not
 * written yet.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sqlite3.h>

struct log_writer;

/* A VFS on top of the named one (NULL: the default), registered under its own name.  NULL when
 * there is no such VFS. */
struct log_writer *log_writer_new(const char *base);

/* Its name, for sqlite3_open_v2. */
const char *log_writer_name(const struct log_writer *w);

/* Only after its last connection is closed.  w may be NULL. */
void log_writer_free(struct log_writer *w);
