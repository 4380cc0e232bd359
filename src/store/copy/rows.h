/*
 * Whole tables: read by key, a bounded part at a time, summed and added to another store.
 *
 * A sum covers the values as they are read, so that different databases can be compared.  Another
 * number of rows, another order or another value gives another sum.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "store/db/db.h"

enum { COPY_KEYS_MAX = 3 };

struct copy_sum {
    int64_t rows;
    int64_t bytes;
    uint64_t sum;
};

/* A walk over one table. */
struct copy_walk {
    const struct sql_table *table;
    struct db_value after[COPY_KEYS_MAX]; /* the last key read */
    struct buf after_text;
    struct arena arena;          /* of this part */
    VEC(struct db_value) values; /* of this part, row by row */
    size_t n_rows;               /* of this part; 0: end of the table */
    size_t n_bytes;
    struct copy_sum sum; /* of all parts so far */
};

void copy_walk_init(struct copy_walk *w, const struct sql_table *table);
void copy_walk_deinit(struct copy_walk *w);
CLEANUP_BY_DEINIT(copy_walk)

/* Reads the next part.  All parts must be read in one transaction. */
MUST_CHECK enum err_code copy_walk_next(struct copy_walk *w, struct db *db, struct err *err);

/* Adds the current part to another database, in its transaction. */
MUST_CHECK enum err_code copy_walk_add(const struct copy_walk *w, struct db *db, struct err *err);

/* The id in the last row of the current part. */
int64_t copy_walk_id(const struct copy_walk *w);

void copy_sum_add(struct copy_sum *sum, const struct db_value *values, size_t n);
