/*
 * Copies a store completely to another place; source and target may be of different kinds.
 *
 * No server may use either of them.  The caller has locked the data directories.  For a shared
 * store the lock that every server needs is taken here, and the copy is refused while a server is
 * alive. The source is read in one transaction and never written to.
 *
 * The target must be empty or the rest of an unfinished copy, which is cleared.  From the first row
 * until everything was read back and compared it has a mark, and a store with the mark cannot be
 * opened: an interrupted copy does no harm and can be repeated.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/sql.h"
#include "store/store.h"

enum store_copy_stage { STORE_COPY_ROWS, STORE_COPY_COMPARE, STORE_COPY_VERIFY };

struct store_copy_progress {
    enum store_copy_stage stage;
    const char *table; /* NULL while the target is verified */
    int64_t rows;      /* of this stage so far */
    int64_t bytes;
};

typedef void store_copy_progress_fn(void *ctx, const struct store_copy_progress *progress);

struct store_copy {
    struct store_config from, to; /* their modes are set here */
    store_copy_progress_fn *on_progress;
    store_finding_fn *on_finding; /* findings of the target's check */
    void *ctx;
};

struct store_copy_side {
    int64_t rows;
    uint64_t sum; /* over all values, in the order of the keys */
};

struct store_copy_table {
    const char *name;
    struct store_copy_side from, to;
};

enum { STORE_COPY_TABLES = SQL_TABLE_COUNT + 1 }; /* the last: the numbers in `meta` */

struct store_copy_result {
    struct store_copy_table tables[STORE_COPY_TABLES];
    int64_t bytes;
    int64_t findings;
    bool agrees; /* everything agrees: the target may be used */
};

/* E_OK also when they differ: the target stays unusable then.  E_CONFLICT: the target is not empty,
 * or is the source; E_UNAVAILABLE: a server is running, or a store is unreachable; E_INVALID: the
 * source has another version. */
MUST_CHECK enum err_code store_copy_run(const struct store_copy *copy,
                                        struct store_copy_result *ret_result, struct err *err);

static inline bool store_copy_table_agrees(const struct store_copy_table *t)
{
    return t->from.rows == t->to.rows && t->from.sum == t->to.sum;
}

/* E_UNAVAILABLE: a copy into the store is unfinished. */
MUST_CHECK enum err_code store_copy_refuse_half(struct store *s, struct err *err);
