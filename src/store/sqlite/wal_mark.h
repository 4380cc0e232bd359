/*
 * Finds out that the write-ahead log was lost.
 *
 * If the log is removed or emptied after a crash, SQLite opens the database without the commits in
 * it, and without a message.  So the store keeps a number in two places: in its table meta and in
 * the file DB-mark.  The first commit after a checkpoint stores a higher number; when that commit
 * is on stable storage, the number is written to the file.  The number in the table is then in the
 * log only, until the next checkpoint.  A table with a lower number than the file has lost commits:
 * neither a crash nor another program that checkpoints the log can cause that.
 *
 * Not noticed: a log that loses its end but not its first commit.
 * The mark belongs to the thread of its connection.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct wal_mark {
    sqlite3_file *file; /* NULL: not open */
    int64_t number;     /* the highest in use */
    int frame;          /* of the log, that ends the commit of `number` */
    bool due;           /* the next transaction is to store number + 1 */
    bool stores;        /* the transaction that is being committed does */
};

#define WAL_MARK_KEY "log" /* of the number in the table meta */

/* The file is no part of a commit: if it cannot be read or written, a warning is logged, and a loss
 * may go unnoticed.  `path` is that of the database, `vfs` as for SQLite. */

/* The number in the file; 0: none. */
int64_t wal_mark_read(const char *path, const char *vfs);

/* Opens or creates the file for writing.  `number`: the highest of table and file. */
void wal_mark_open(struct wal_mark *m, const char *path, const char *vfs, int64_t number);
void wal_mark_close(struct wal_mark *m);

/* After each commit: the log has `frames`, of which `in_database` are checkpointed. */
void wal_mark_committed(struct wal_mark *m, int frames, int in_database);

/* Writes and syncs `number`. */
void wal_mark_write(struct wal_mark *m, int64_t number);
