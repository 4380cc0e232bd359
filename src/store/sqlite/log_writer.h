/*
 * The write-ahead log in few, large writes.
 *
 * SQLite writes each page of a commit with two system calls: header and page.  A connection that is
 * opened through a log writer gathers them and writes adjacent pages with one call, at the latest
 * when the log is synced, read, truncated or closed.  Other connections learn of a commit after its
 * sync: the connection must have synchronous=FULL, or they would look for pages that are not
 * written yet.
 *
 * The sync of a commit can be put off (log_writer_put_off), so that the next transaction runs while
 * another thread syncs.  Other connections then see the commit before it is on stable storage.  The
 * log never holds more than one such commit: whatever is written next to it waits for the sync, or
 * does it.  So a power cut leaves what it would have left without putting off: all commits but at
 * most the last, and nothing behind a torn one.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "base/compiler.h"

struct log_writer;

/* A VFS on top of the named one (NULL: the default), registered under its own name.  NULL when
 * there is no such VFS. */
struct log_writer *log_writer_new(const char *base);

/* Its name, for sqlite3_open_v2. */
const char *log_writer_name(const struct log_writer *w);

/* From now on (or no longer) the sync of a commit is put off.  The connection's thread.  w may be
 * NULL. */
void log_writer_put_off(struct log_writer *w, bool puts_off);

/* Whether a commit awaits its sync, or the sync has failed.  Any thread. */
bool log_writer_owes(struct log_writer *w);

/* Syncs what was put off, or waits for whoever does.  Any thread.  After a failure nobody can tell
 * what is on the disk: this and every later write fails, until the log is opened again. */
MUST_CHECK int log_writer_sync(struct log_writer *w);

/* Only after its last connection is closed.  w may be NULL. */
void log_writer_free(struct log_writer *w);
