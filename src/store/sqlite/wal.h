/*
 * Finds commits that SQLite would drop silently.
 *
 * After a crash SQLite reads its write-ahead log up to the first frame with a wrong checksum and
 * ignores the rest.  That is right for an unfinished transaction.  But one bad byte in the middle
 * of the log also drops all later commits, without a message.
 *
 * Checksums are chained: each frame's checksum continues the one in the header of the frame before.
 * So it is possible to tell, even behind a bad frame, whether one frame was written right after
 * another.  A frame that continues the last frame of a transaction proves a loss: a transaction
 * begins only after the one before is on stable storage and acknowledged.  Behind the end of a
 * truncated log there is at most one transaction, and remains of failed ones, which no frame
 * continues.  If only the very last transaction is damaged, it looks like an unfinished one.
 *
 * A bad header drops the whole log.  That is no loss if the database holds all of it: SQLite starts
 * its log again after a checkpoint, and on a full disk the new header may arrive in part.  With a
 * sound header the database is not asked: SQLite would use the frames before the bad one instead of
 * newer pages.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct wal_loss {
    int64_t frame;   /* number of the first bad frame, from 1 */
    int64_t frames;  /* frames from there to the end */
    int64_t commits; /* commits among them; 0: nothing was lost */
};

/* Scans the log of the database at `path`, which no process may have open; `vfs` as for SQLite.  No
 * log is no loss.  E_UNAVAILABLE: it cannot be read. */
MUST_CHECK enum err_code sqlite_wal_scan(const char *path, const char *vfs,
                                         struct wal_loss *ret_loss, struct err *err);
