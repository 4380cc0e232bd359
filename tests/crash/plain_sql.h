/*
 * Plain SQLite on a disk of a test: /d/t.db, and short words for statements.  Words fail the test
 * when SQLite does not do as told.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sqlite3.h>

static inline int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static inline void must(sqlite3 *db, const char *sql)
{
    assert_int_equal(run(db, sql), SQLITE_OK);
}

static inline sqlite3 *open_on(const char *vfs, const char *pragmas)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open_v2("/d/t.db", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                     vfs),
                     SQLITE_OK);
    sqlite3_extended_result_codes(db, 1);
    must(db, pragmas);
    return db;
}

static inline int take_number(void *ctx, int n, char **values, char **names)
{
    (void)n;
    (void)names;
    *(int64_t *)ctx = values[0] == NULL ? -1 : strtoll(values[0], NULL, 10);
    return 0;
}

/* -1: the statement failed */
static inline int64_t number(sqlite3 *db, const char *sql)
{
    int64_t value = -1;

    return sqlite3_exec(db, sql, take_number, &value, NULL) == SQLITE_OK ? value : -1;
}
