/* SPDX-License-Identifier: MIT */
#include <sqlite3.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "store/sqlite/rows.h"
#include "testing.h"

static int setup(void **state)
{
    sqlite3 *db = NULL;

    if (sqlite3_open(":memory:", &db) != SQLITE_OK || sqlite_rows_register(db) != SQLITE_OK)
        return -1;
    *state = db;
    return 0;
}

static int teardown(void **state)
{
    return sqlite3_close(*state) == SQLITE_OK ? 0 : -1;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql, const struct db_rows *rows)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    if (rows != NULL)
        assert_int_equal(sqlite_rows_bind(stmt, 1, rows), SQLITE_OK);
    return stmt;
}

/* The only number that a statement gives. */
static int64_t number(sqlite3 *db, const char *sql, const struct db_rows *rows)
{
    sqlite3_stmt *stmt = prepare(db, sql, rows);

    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(stmt, 0);

    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
    return value;
}

static void every_type_comes_as_it_is(void **state)
{
    sqlite3 *db = *state;
    const struct db_value values[] = {
        db_i(INT64_MIN),
        db_t(SLICE("gr\xc3\xbc\xc3\x9f")),
        db_b(SLICE("\0\xff\0")),
        {.type = DB_NULL},
        {.type = DB_TEXT},
        {.type = DB_BLOB, .s = SLICE("")},
        {.type = DB_TEXT, .s = SLICE("a\0b")},
    };
    const struct db_rows rows = {values, 1, ARRAY_LEN(values)};
    sqlite3_stmt *stmt = prepare(db, "SELECT c1,c2,c3,c4,c5,c6,c7,c8 FROM rows($1)", &rows);

    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_type(stmt, 0), SQLITE_INTEGER);
    assert_true(sqlite3_column_int64(stmt, 0) == INT64_MIN);
    assert_int_equal(sqlite3_column_type(stmt, 1), SQLITE_TEXT);
    assert_string_equal((const char *)sqlite3_column_text(stmt, 1), "gr\xc3\xbc\xc3\x9f");
    assert_int_equal(sqlite3_column_type(stmt, 2), SQLITE_BLOB);
    assert_int_equal(sqlite3_column_bytes(stmt, 2), 3);
    assert_memory_equal(sqlite3_column_blob(stmt, 2), "\0\xff\0", 3);
    assert_int_equal(sqlite3_column_type(stmt, 3), SQLITE_NULL);
    assert_int_equal(sqlite3_column_type(stmt, 4), SQLITE_TEXT);
    assert_int_equal(sqlite3_column_bytes(stmt, 4), 0);
    assert_int_equal(sqlite3_column_type(stmt, 5), SQLITE_BLOB);
    assert_int_equal(sqlite3_column_bytes(stmt, 5), 0);
    assert_int_equal(sqlite3_column_bytes(stmt, 6), 3);
    assert_int_equal(sqlite3_column_type(stmt, 7), SQLITE_NULL); /* a row has only so many */
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
}

static void rows_come_in_their_order(void **state)
{
    enum { ROWS = 1000, COLUMNS = 3 };
    sqlite3 *db = *state;
    struct db_value *values = mem_alloc(ROWS * COLUMNS * sizeof(*values));
    const struct db_rows rows = {values, ROWS, COLUMNS};

    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
        values[i] = db_i(i * 7 % 5000);
    sqlite3_stmt *stmt = prepare(db, "SELECT c1, c2, c3, c4 FROM rows($1)", &rows);

    for (int row = 0; row < ROWS; row++) {
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        for (int c = 0; c < COLUMNS; c++)
            assert_int_equal(sqlite3_column_int64(stmt, c), values[row * COLUMNS + c].i);
        assert_int_equal(sqlite3_column_type(stmt, COLUMNS), SQLITE_NULL); /* not the next row's */
    }
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
    free(values);
}

static void an_empty_array_has_no_rows(void **state)
{
    const struct db_rows rows = {NULL, 0, 1};

    assert_int_equal(number(*state, "SELECT COUNT(*) FROM rows($1)", &rows), 0);
}

static void a_prepared_statement_takes_another_array(void **state)
{
    sqlite3 *db = *state;
    const struct db_value values[] = {db_i(1), db_i(2), db_i(3), db_i(4)};
    const struct db_rows two = {values, 2, 1};
    const struct db_rows wide = {values, 2, 2};
    sqlite3_stmt *stmt = prepare(db, "SELECT SUM(c1) FROM rows($1)", &two);

    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int64(stmt, 0), 3);
    sqlite3_reset(stmt);
    assert_int_equal(sqlite_rows_bind(stmt, 1, &wide), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int64(stmt, 0), 4);
    sqlite3_finalize(stmt);
}

/* As claims and finishes use it: looked up row by row, and as a set. */
static void it_joins_with_tables_in_the_order_of_the_array(void **state)
{
    sqlite3 *db = *state;
    const struct db_value values[] = {db_i(30), db_i(10), db_i(99), db_i(20)};
    const struct db_rows rows = {values, 4, 1};
    static const int64_t order[] = {30, 10, 20};

    assert_int_equal(sqlite3_exec(db,
                                  "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER);"
                                  "INSERT INTO t VALUES (10, 1), (20, 2), (30, 3), (40, 4)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_stmt *stmt = prepare(
        db, "SELECT t.id FROM rows($1) AS r CROSS JOIN t ON t.id = r.c1 WHERE t.n > 0", &rows);

    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int64(stmt, 0), order[i]);
    }
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
    stmt = prepare(db, "DELETE FROM t WHERE id IN (SELECT r.c1 FROM rows($1) AS r)", &rows);
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    assert_int_equal(sqlite3_changes(db), 3);
    sqlite3_finalize(stmt);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM t", NULL), 1);
}

static void two_arrays_can_be_read_at_once(void **state)
{
    sqlite3 *db = *state;
    const struct db_value values[] = {db_i(1), db_i(2), db_i(3)};
    const struct db_rows some = {values, 2, 1};
    const struct db_rows all = {values, 3, 1};
    sqlite3_stmt *stmt = prepare(db, "SELECT SUM(a.c1 * b.c1) FROM rows($1) AS a, rows($2) AS b",
                                 &some);

    assert_int_equal(sqlite_rows_bind(stmt, 2, &all), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int64(stmt, 0), (1 + 2) * (1 + 2 + 3));
    sqlite3_finalize(stmt);
}

static void what_is_not_our_array_is_refused(void **state)
{
    static const char *const wrong[] = {"SELECT * FROM rows(1)", "SELECT * FROM rows('x')",
                                        "SELECT * FROM rows(NULL)"};
    sqlite3 *db = *state;
    sqlite3_stmt *stmt = NULL;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        stmt = prepare(db, wrong[i], NULL);
        assert_int_not_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_int_not_equal(sqlite3_reset(stmt), SQLITE_OK);
        sqlite3_finalize(stmt);
    }
    assert_int_not_equal(sqlite3_prepare_v2(db, "SELECT * FROM rows", -1, &stmt, NULL), SQLITE_OK);
    assert_int_not_equal(sqlite3_exec(db, "CREATE VIRTUAL TABLE v USING rows()", NULL, NULL, NULL),
                         SQLITE_OK);
}

#define ROWS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROWS_TEST(every_type_comes_as_it_is),
        ROWS_TEST(rows_come_in_their_order),
        ROWS_TEST(an_empty_array_has_no_rows),
        ROWS_TEST(a_prepared_statement_takes_another_array),
        ROWS_TEST(it_joins_with_tables_in_the_order_of_the_array),
        ROWS_TEST(two_arrays_can_be_read_at_once),
        ROWS_TEST(what_is_not_our_array_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
