/*
 * A schema of its own for a test, in the PostgreSQL that WAYBILL_TEST_STORE names.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct pg_schema {
    char name[64];
    char url[512]; /* for store_open */
};

/* WAYBILL_TEST_STORE is set: tests are to use PostgreSQL. */
bool pg_is_wanted(void);

/* Makes it; the program ends with a message when it cannot. */
void pg_schema_make(struct pg_schema *p);
void pg_schema_drop(struct pg_schema *p);

/*
 * The same for an empty store, whose tables may exist already: to create them takes longer than
 * most tests.  A schema that is given back is emptied for the next test.  It is dropped when it has
 * grown, or when SQL of a test may have changed more than rows.
 */
void pg_schema_take(struct pg_schema *p);
void pg_schema_give_back(struct pg_schema *p);

/* SQL in that schema, on its own connection: to do damage, and to see what the store does not
 * show. */
void pg_schema_run(const struct pg_schema *p, const char *sql);
int64_t pg_schema_number(const struct pg_schema *p, const char *sql);
