/*
 * What SQLite does not tell: that it has thrown away commits.
 *
 * After a crash SQLite takes its write-ahead log up to the first frame whose checksum is wrong, and forgets the rest.
 * That is right for the transaction that was being written.  But a byte that has gone bad in the middle takes all later
 * commits with it, and nobody hears of it.
 *
 * Checksums are chained: each frame's continues that of the frame before, as it stands in that frame's header.  So
 * behind a bad frame it can still be told whether one frame was written right after another.  A frame that continues
 * one that ended a transaction is proof: a transaction is begun only when the one before is on stable storage and
 * was answered.  Behind the end of a log that was only cut off there is at most one transaction, and remains of ones
 * that failed, which nothing continues.  The last transaction of all, if it alone is damaged, cannot be told from one
 * that was cut off.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct wal_loss {
    int64_t frame;   /* number of the first bad one, from 1 */
    int64_t frames;  /* of this log from there on */
    int64_t commits; /* that they end; 0: nothing was lost */
};

/* Looks at the log of the database at `path`, which nobody has open; `vfs` as for SQLite.  No log is no loss.
 * E_UNAVAILABLE when it cannot be read. */
MUST_CHECK enum err_code sqlite_wal_scan(const char *path, const char *vfs,
                                         struct wal_loss *ret_loss, struct err *err);
