/* SPDX-License-Identifier: MIT */
#include "store/postgres/values.h"

#include <endian.h>
#include <limits.h>
#include <string.h>

#include "base/compiler.h"

/* OIDs of PostgreSQL's own types never change; their header is the server's, not libpq's. */
enum pg_type {
    TYPE_BOOL = 16,
    TYPE_BYTEA = 17,
    TYPE_NAME = 19,
    TYPE_INT8 = 20,
    TYPE_INT2 = 21,
    TYPE_INT4 = 23,
    TYPE_TEXT = 25,
    TYPE_VOID = 2278, /* what a lock or a notification returns */
};

enum {
    BYTES_MAX = 1000 << 20, /* a message has at most 1 GiB */
    BYTES_KEPT = 1 << 20,
    FORMAT_BINARY = 1,
    LENGTH_NULL = -1,
};

static const struct {
    Oid array, element;
} arrays[] = {
    {1000, TYPE_BOOL}, {1001, TYPE_BYTEA}, {1005, TYPE_INT2},
    {1007, TYPE_INT4}, {1009, TYPE_TEXT},  {1016, TYPE_INT8},
};

/* 0: it is no array, or one of something else. */
static Oid element_of(Oid array)
{
    for (size_t i = 0; i < ARRAY_LEN(arrays); i++)
        if (arrays[i].array == array)
            return arrays[i].element;
    return 0;
}

static bool is_bytes(Oid type)
{
    return type == TYPE_TEXT || type == TYPE_BYTEA || type == TYPE_NAME;
}

bool pg_type_is_known(Oid type)
{
    return is_bytes(type) || type == TYPE_INT8 || type == TYPE_INT4 || type == TYPE_INT2 ||
           type == TYPE_BOOL || type == TYPE_VOID;
}

/* ---- arguments ---- */

void pg_params_init(struct pg_params *p)
{
    *p = (struct pg_params){.bytes = BUF_INIT(BYTES_MAX)};
    for (int i = 0; i < PG_PARAMS_MAX; i++)
        p->formats[i] = FORMAT_BINARY;
}

void pg_params_deinit(struct pg_params *p)
{
    buf_deinit(&p->bytes);
}

void pg_params_rest(struct pg_params *p)
{
    if (p->bytes.capacity > BYTES_KEPT)
        buf_deinit(&p->bytes);
}

static void add_int32(struct buf *b, int64_t value)
{
    uint32_t wire = htobe32((uint32_t)value);

    buf_add(b, &wire, sizeof(wire));
}

/* Of a number in its type: 0 when it does not fit. */
static int int_size(Oid type, int64_t value)
{
    switch (type) {
    case TYPE_INT8: return 8;
    case TYPE_INT4: return value >= INT32_MIN && value <= INT32_MAX ? 4 : 0;
    case TYPE_INT2: return value >= INT16_MIN && value <= INT16_MAX ? 2 : 0;
    case TYPE_BOOL: return value == 0 || value == 1 ? 1 : 0;
    default: return 0;
    }
}

/* The last bytes of the number, largest first. */
static void add_int(struct buf *b, int64_t value, int size)
{
    uint64_t wire = htobe64((uint64_t)value);

    buf_add(b, (const char *)&wire + sizeof(wire) - (size_t)size, (size_t)size);
}

static const char *const type_names[] = {"NULL", "a number", "a text", "a blob", "rows"};

static enum err_code misfit(const struct db_value *v, Oid type, struct err *err)
{
    return err_set(err, E_INTERNAL, "%s does not fit a parameter of type %u", type_names[v->type],
                   type);
}

/* Adds the value's bytes, with its length before them when it is one of an array. */
static enum err_code add_value(struct buf *b, const struct db_value *v, Oid type, bool in_array,
                               struct err *err)
{
    int size = v->type == DB_INT ? int_size(type, v->i) : 0;

    switch (v->type) {
    case DB_NULL:
        if (in_array)
            add_int32(b, LENGTH_NULL);
        return E_OK;
    case DB_INT:
        if (size == 0)
            return misfit(v, type, err);
        if (in_array)
            add_int32(b, size);
        add_int(b, v->i, size);
        return E_OK;
    case DB_TEXT:
    case DB_BLOB:
        if (!is_bytes(type))
            return misfit(v, type, err);
        if (in_array)
            add_int32(b, (int64_t)v->s.size);
        buf_add_slice(b, v->s);
        return E_OK;
    case DB_ROWS: break;
    }
    return misfit(v, type, err);
}

/* One column of the rows.  Dimensions, whether there are NULLs (nobody looks), type; then of the
 * one dimension its size and first index. */
static enum err_code add_column(struct buf *b, const struct db_rows *rows, size_t column, Oid type,
                                struct err *err)
{
    Oid element = element_of(type);

    if (element == 0)
        return err_set(err, E_INTERNAL, "rows do not fit a parameter of type %u", type);
    add_int32(b, rows->n_rows == 0 ? 0 : 1);
    add_int32(b, 1);
    add_int32(b, element);
    if (rows->n_rows == 0)
        return E_OK;
    add_int32(b, (int64_t)rows->n_rows);
    add_int32(b, 1);
    for (size_t i = 0; i < rows->n_rows; i++)
        if (add_value(b, &rows->values[i * rows->n_columns + column], element, true, err) != E_OK)
            return err->code;
    return E_OK;
}

/* A value is one parameter, rows are one for each column. */
static enum err_code set_value(struct pg_params *p, const struct db_value *v, const Oid *types,
                               int n_types, struct err *err)
{
    size_t n = v->type == DB_ROWS ? v->rows->n_columns : 1;

    ASSERT(p->count + (int)n <= n_types && n_types <= PG_PARAMS_MAX);
    for (size_t column = 0; column < n; column++, p->count++) {
        size_t first = p->offsets[p->count] = p->bytes.size;

        if ((v->type == DB_ROWS ? add_column(&p->bytes, v->rows, column, types[p->count], err)
                                : add_value(&p->bytes, v, types[p->count], false, err)) != E_OK)
            return err->code;
        p->lengths[p->count] = v->type == DB_NULL ? LENGTH_NULL : (int)(p->bytes.size - first);
    }
    return E_OK;
}

enum err_code pg_params_set(struct pg_params *p, const struct db_call *call, const Oid *types,
                            int n_types, struct err *err)
{
    p->count = 0;
    buf_clear(&p->bytes);
    for (size_t i = 0; i < call->n_args; i++)
        if (set_value(p, &call->args[i], types, n_types, err) != E_OK)
            return err->code;
    ASSERT(p->count == n_types);
    if (p->bytes.overflowed)
        return err_set(err, E_TOO_LARGE, "more than %d MiB at once", BYTES_MAX >> 20);
    for (int i = 0; i < p->count; i++)
        p->values[i] = p->lengths[i] == LENGTH_NULL ? NULL : buf_text(&p->bytes) + p->offsets[i];
    return E_OK;
}

/* ---- columns ---- */

static const struct pg_row *row_of(const struct db_row *row)
{
    return (const struct pg_row *)row;
}

bool pg_col_null(const struct db_row *row, int column)
{
    return PQgetisnull(row_of(row)->result, row_of(row)->at, column);
}

static int64_t int_of(const char *value, int size)
{
    uint64_t wire = value[0] < 0 && size > 1 ? UINT64_MAX : 0; /* the sign goes on to the left */

    memcpy((char *)&wire + sizeof(wire) - (size_t)size, value, (size_t)size);
    return (int64_t)be64toh(wire);
}

int64_t pg_col_int(const struct db_row *row, int column)
{
    const struct pg_row *r = row_of(row);

    if (pg_col_null(row, column))
        return 0;
    ASSERT(!is_bytes(PQftype(r->result, column)));
    return int_of(PQgetvalue(r->result, r->at, column), PQgetlength(r->result, r->at, column));
}

struct slice pg_col_blob(const struct db_row *row, int column)
{
    const struct pg_row *r = row_of(row);

    if (pg_col_null(row, column))
        return slice_make(NULL, 0);
    ASSERT(is_bytes(PQftype(r->result, column)));
    return slice_make(PQgetvalue(r->result, r->at, column),
                      (size_t)PQgetlength(r->result, r->at, column));
}

struct slice pg_col_text(const struct db_row *row, int column)
{
    return pg_col_blob(row, column);
}
