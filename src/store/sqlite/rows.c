/* SPDX-License-Identifier: MIT */
#include "store/sqlite/rows.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/compiler.h"

#define POINTER_TYPE "waybill-rows"

enum { POINTER_COLUMN = SQLITE_ROWS_COLUMNS, EXPECTED_ROWS = 100 };

struct rows_cursor {
    sqlite3_vtab_cursor base; /* must be first */
    const struct db_rows *rows;
    size_t at;
};

static int rows_connect(sqlite3 *handle, void *aux, int argc, const char *const *argv,
                        sqlite3_vtab **ret_table, char **ret_error)
{
    CLEANUP(buf) struct buf table = BUF_INIT(1000);

    buf_add_str(&table, "CREATE TABLE x(");
    for (int i = 1; i <= SQLITE_ROWS_COLUMNS; i++)
        buf_addf(&table, "c%d,", i);
    buf_add_str(&table, "pointer HIDDEN)");
    int rc = sqlite3_declare_vtab(handle, buf_text(&table));

    (void)aux;
    (void)argc;
    (void)argv;
    (void)ret_error;
    if (rc == SQLITE_OK)
        *ret_table = mem_zalloc(sizeof(sqlite3_vtab));
    return rc;
}

static int rows_disconnect(sqlite3_vtab *table)
{
    free(table);
    return SQLITE_OK;
}

/* The array must be given: without it there is no plan. */
static int rows_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn != POINTER_COLUMN ||
            info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ || !info->aConstraint[i].usable)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->estimatedCost = 1;
        info->estimatedRows = EXPECTED_ROWS;
        return SQLITE_OK;
    }
    return SQLITE_CONSTRAINT;
}

static int rows_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
    struct rows_cursor *c = mem_zalloc(sizeof(*c));

    (void)table;
    *ret_cursor = &c->base;
    return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *cursor)
{
    free(cursor);
    return SQLITE_OK;
}

static int rows_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc,
                       sqlite3_value **argv)
{
    struct rows_cursor *c = (struct rows_cursor *)cursor;

    (void)number;
    (void)text;
    c->rows = argc == 1 ? sqlite3_value_pointer(argv[0], POINTER_TYPE) : NULL;
    c->at = 0;
    return c->rows == NULL ? SQLITE_MISUSE : SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *cursor)
{
    ((struct rows_cursor *)cursor)->at++;
    return SQLITE_OK;
}

static int rows_eof(sqlite3_vtab_cursor *cursor)
{
    const struct rows_cursor *c = (const struct rows_cursor *)cursor;

    return c->at >= c->rows->n_rows;
}

static int rows_column(sqlite3_vtab_cursor *cursor, sqlite3_context *ctx, int column)
{
    const struct rows_cursor *c = (const struct rows_cursor *)cursor;

    if (column >= (int)c->rows->n_columns)
        return SQLITE_OK; /* NULL */
    const struct db_value *v = &c->rows->values[c->at * c->rows->n_columns + (size_t)column];

    switch (v->type) {
    case DB_INT: sqlite3_result_int64(ctx, v->i); break;
    case DB_TEXT:
        sqlite3_result_text64(ctx, v->s.data == NULL ? "" : v->s.data, v->s.size, SQLITE_STATIC,
                              SQLITE_UTF8);
        break;
    case DB_BLOB: sqlite3_result_blob64(ctx, v->s.data, v->s.size, SQLITE_STATIC); break;
    case DB_NULL:
    case DB_ROWS: break;
    }
    return SQLITE_OK;
}

static int rows_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
    *ret_rowid = (sqlite3_int64)((const struct rows_cursor *)cursor)->at;
    return SQLITE_OK;
}

/* No xCreate: it exists in every connection by its name and cannot be made otherwise. */
static const sqlite3_module rows_module = {
    .xConnect = rows_connect,
    .xBestIndex = rows_best_index,
    .xDisconnect = rows_disconnect,
    .xOpen = rows_open,
    .xClose = rows_close,
    .xFilter = rows_filter,
    .xNext = rows_next,
    .xEof = rows_eof,
    .xColumn = rows_column,
    .xRowid = rows_rowid,
};

int sqlite_rows_register(sqlite3 *handle)
{
    return sqlite3_create_module_v2(handle, "rows", &rows_module, NULL, NULL);
}

int sqlite_rows_bind(sqlite3_stmt *stmt, int place, const struct db_rows *rows)
{
    return sqlite3_bind_pointer(stmt, place, (void *)(uintptr_t)rows, POINTER_TYPE, NULL);
}
