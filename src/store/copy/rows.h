/*
 * The tables of a store whole: read in the order of their keys, a bounded part at a time, summed up
 * and added.
 *
 * A sum is over the values as we read them, so that two databases of different kinds can be
 * compared.  A row more or less, another order or another value gives another one.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"
#include "store/db/db.h"

enum { COPY_KEYS_MAX = 2 };

struct copy_sum {
    int64_t rows;
    int64_t bytes;
    uint64_t sum;
};

/* A walk over one table. */
struct copy_walk {
    const struct sql_table *table;
    struct db_value after[COPY_KEYS_MAX]; /* the last key that was read */
    struct buf after_text;
    struct arena arena;          /* of the part */
    VEC(struct db_value) values; /* of the part, row by row */
    size_t n_rows;               /* of the part; 0: the table's end */
    size_t n_bytes;
    struct copy_sum sum; /* of all parts up to now */
};

void copy_walk_init(struct copy_walk *w, const struct sql_table *table);
void copy_walk_deinit(struct copy_walk *w);
static inline void copy_walk_cleanup(struct copy_walk *w)
{
    copy_walk_deinit(w);
}

/* The next part.  All parts are to be read in one transaction. */
MUST_CHECK enum err_code copy_walk_next(struct copy_walk *w, struct db *db, struct err *err);

/* Adds the part at hand to another database; in its transaction. */
MUST_CHECK enum err_code copy_walk_add(const struct copy_walk *w, struct db *db, struct err *err);

/* The id in the last row of the part at hand. */
int64_t copy_walk_id(const struct copy_walk *w);

void copy_sum_add(struct copy_sum *sum, const struct db_value *values, size_t n);
