/* SPDX-License-Identifier: MIT */
#include "store/db/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/jtext/jtext.h"

static bool read_number(const struct db_row *row, int place, const struct db_column *c, char *item)
{
    int64_t value = db_col_int(row, place);

    if ((c->if_null != 0 || c->has != 0) && db_col_null(row, place))
        value = c->if_null;
    else if (c->has != 0)
        *(bool *)(item + c->has) = true;
    if (c->min != c->max && (value < c->min || value > c->max))
        return false;
    if (c->size == sizeof(int64_t)) {
        memcpy(item + c->offset, &value, sizeof(value));
    } else if (c->size == sizeof(int32_t)) {
        int32_t narrow = (int32_t)value;

        if (narrow != value)
            return false;
        memcpy(item + c->offset, &narrow, sizeof(narrow));
    } else {
        ASSERT(c->size == sizeof(bool));
        *(bool *)(item + c->offset) = value != 0;
    }
    return true;
}

static bool read_slice(struct slice s, const struct db_column *c, struct arena *arena, char *item)
{
    struct err ignored = ERR_INIT;
    struct slice value;

    if (c->type == DB_COLUMN_OBJECT && s.size > 0 && !jtext_is_object(s))
        return false;
    if (c->type == DB_COLUMN_JSON && s.size > 0 && jtext_check(s, &value, &ignored) != E_OK)
        return false;
    if (s.data != NULL)
        s = arena_copy(arena, s);
    memcpy(item + c->offset, &s, sizeof(s));
    return true;
}

/* The database's bytes are not aligned: the elements are copied. */
static bool read_array(struct slice bytes, const struct db_column *c, struct arena *arena,
                       char *item)
{
    size_t n = bytes.size / c->element;
    void *elements = bytes.data == NULL ? NULL : arena_array(arena, n + 1, c->element);

    if (c->exact && bytes.size % c->element != 0)
        return false;
    if (elements != NULL && n > 0)
        memcpy(elements, bytes.data, n * c->element);
    memcpy(item + c->offset, &elements, sizeof(elements));
    memcpy(item + c->count, &n, sizeof(n));
    return true;
}

static bool read_column(const struct db_row *row, int place, const struct db_column *c,
                        struct arena *arena, char *item)
{
    switch (c->type) {
    case DB_COLUMN_SKIPPED: return true;
    case DB_COLUMN_NUMBER: return read_number(row, place, c, item);
    case DB_COLUMN_TEXT:
    case DB_COLUMN_OBJECT:
    case DB_COLUMN_JSON: return read_slice(db_col_text(row, place), c, arena, item);
    case DB_COLUMN_BYTES: return read_slice(db_col_blob(row, place), c, arena, item);
    case DB_COLUMN_ARRAY: return read_array(db_col_blob(row, place), c, arena, item);
    }
    return false;
}

bool db_row_read(const struct db_row *row, const struct db_table *table, struct arena *arena,
                 void *item)
{
    const char *bad = NULL;

    for (size_t i = 0; i < table->n_columns; i++)
        if (!read_column(row, table->first + (int)i, &table->columns[i], arena, item))
            bad = bad == NULL ? table->columns[i].name : bad;
    if (bad == NULL && (table->check == NULL || table->check(item, row, arena)))
        return true;
    char id[ID_TEXT_SIZE + 8];
    int64_t number = db_col_int(row, 0);

    if (number > UINT32_MAX) /* queues and workers have small numbers */
        (void)id_format(number, id);
    else
        (void)snprintf(id, sizeof(id), "%lld", (long long)number);
    if (bad == NULL)
        db_row_refuse(row, "%s %s: impossible row", table->noun, id);
    else
        db_row_refuse(row, "%s %s: impossible value of %s", table->noun, id, bad);
    return false;
}

static const struct db_column text_column[] = {
    {.type = DB_COLUMN_TEXT, .name = "text", .size = sizeof(struct slice)},
};
static const struct db_column bytes_column[] = {
    {.type = DB_COLUMN_BYTES, .name = "bytes", .size = sizeof(struct slice)},
};
const struct db_table db_text_table = DB_TABLE("value", slice, text_column);
const struct db_table db_bytes_table = DB_TABLE("value", slice, bytes_column);

struct find_ctx {
    const struct db_table *table;
    const struct db_target *target;
};

static void find_on_row(void *ctx, const struct db_row *row)
{
    const struct find_ctx *f = ctx;

    (void)db_row_read(row, f->table, f->target->arena, f->target->item); /* db_query tells */
}

enum err_code db_find_row(struct db *db, enum sql sql, struct db_args args,
                          const struct db_table *table, const struct db_target *target,
                          struct err *err)
{
    struct find_ctx f = {table, target};
    struct db_call call = {
        .sql = sql, .args = args.values, .n_args = args.n, .on_row = find_on_row, .ctx = &f};

    memset(target->item, 0, table->size);
    return db_query(db, &call, err);
}

static void list_on_row(void *ctx, const struct db_row *row)
{
    struct db_list *l = ctx;
    size_t size = l->table->size;

    if (l->n == l->capacity) {
        l->capacity = l->n == 0 ? 8 : 2 * l->n;
        l->items = mem_realloc(l->items, l->capacity * size);
    }
    char *item = (char *)l->items + l->n * size;

    memset(item, 0, size);
    if (db_row_read(row, l->table, l->texts != NULL ? l->texts : &l->own, item))
        l->n++;
}

enum err_code db_each_row(struct db *db, enum sql sql, struct db_args args, struct db_list *list,
                          struct err *err)
{
    struct db_call call = {
        .sql = sql, .args = args.values, .n_args = args.n, .on_row = list_on_row, .ctx = list};

    return db_query(db, &call, err);
}

void db_list_deinit(struct db_list *l)
{
    free(l->items);
    arena_deinit(&l->own);
}
