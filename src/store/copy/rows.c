/* SPDX-License-Identifier: MIT */
#include "store/copy/rows.h"

#include <string.h>

enum {
    PART_ROWS = 500,
    PART_BYTES = 4 << 20, /* as in tools/embed; the last row may exceed it */
    KEY_BYTES = 1 << 20,
};

/* ---- sums ---- */

/* One to one in `hash`: nothing that went in before is forgotten. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 32);
}

static uint64_t mix_value(uint64_t hash, const struct db_value *v)
{
    switch (v->type) {
    case DB_NULL: return mix(hash, 1);
    case DB_INT: return mix(mix(hash, 2), (uint64_t)v->i);
    case DB_TEXT:
    case DB_BLOB: return mix(mix(mix(hash, 3), v->s.size), slice_hash(v->s));
    case DB_ROWS: break;
    }
    ASSERT(!"a row holds no rows");
    return hash;
}

void copy_sum_add(struct copy_sum *sum, const struct db_value *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum->sum = mix_value(sum->sum, &values[i]);
        sum->bytes += values[i].type == DB_INT ? (int64_t)sizeof(int64_t)
                                               : (int64_t)values[i].s.size;
    }
    sum->rows++;
}

/* ---- reading ---- */

void copy_walk_init(struct copy_walk *w, const struct sql_table *table)
{
    *w = (struct copy_walk){.table = table, .after_text = BUF_INIT(KEY_BYTES)};
    for (int i = 0; i < table->n_keys; i++)
        w->after[i] = table->columns[i] == 'i'
                          ? db_i(INT64_MIN)
                          : (struct db_value){.type = DB_TEXT,
                                              .s = SLICE("")}; /* no key is empty */
}

void copy_walk_deinit(struct copy_walk *w)
{
    buf_deinit(&w->after_text);
    arena_deinit(&w->arena);
    VEC_DEINIT(&w->values);
}

static struct db_value read_value(struct copy_walk *w, const struct db_row *row, int column)
{
    char kind = w->table->columns[column];

    if (db_col_null(row, column))
        return (struct db_value){.type = DB_NULL};
    if (kind == 'i')
        return db_i(db_col_int(row, column));
    struct slice s = kind == 'b' ? db_col_blob(row, column) : db_col_text(row, column);

    w->n_bytes += s.size;
    return (struct db_value){.type = kind == 'b' ? DB_BLOB : DB_TEXT,
                             .s = arena_copy(&w->arena, s)};
}

/* Rows beyond the bytes of a part are left for the next one. */
static void on_copy_row(void *ctx, const struct db_row *row)
{
    struct copy_walk *w = ctx;
    size_t first = w->values.count;

    if (w->n_bytes >= PART_BYTES)
        return;
    for (int i = 0; w->table->columns[i] != '\0'; i++) {
        struct db_value v = read_value(w, row, i);

        VEC_PUSH(&w->values, v);
    }
    copy_sum_add(&w->sum, &w->values.items[first], w->values.count - first);
    w->n_rows++;
}

static void note_last_key(struct copy_walk *w)
{
    const struct db_value *last = &w->values.items[w->values.count - strlen(w->table->columns)];

    for (int i = 0; i < w->table->n_keys; i++) {
        w->after[i] = last[i];
        if (last[i].type == DB_INT)
            continue;
        buf_clear(&w->after_text);
        buf_add_slice(&w->after_text, last[i].s);
        ASSERT(!w->after_text.overflowed);
        w->after[i].s = buf_slice(&w->after_text);
    }
}

enum err_code copy_walk_next(struct copy_walk *w, struct db *db, struct err *err)
{
    struct db_value args[COPY_KEYS_MAX + 1];
    size_t n = (size_t)w->table->n_keys;

    memcpy(args, w->after, n * sizeof(args[0]));
    args[n] = db_i(PART_ROWS);
    arena_clear(&w->arena);
    VEC_CLEAR(&w->values);
    w->n_rows = w->n_bytes = 0;
    if (db_call_rows(db, w->table->read, (struct db_args){args, n + 1},
                     &(struct db_reader){on_copy_row, w}, err) != E_OK)
        return err_wrap(err, "read %s", w->table->name);
    if (w->n_rows > 0)
        note_last_key(w);
    return E_OK;
}

enum err_code copy_walk_add(const struct copy_walk *w, struct db *db, struct err *err)
{
    struct db_rows rows = {.values = w->values.items,
                           .n_rows = w->n_rows,
                           .n_columns = strlen(w->table->columns)};

    if (db_do(db, w->table->add, err, db_r(&rows)) != E_OK)
        return err_wrap(err, "add to %s", w->table->name);
    return E_OK;
}

int64_t copy_walk_id(const struct copy_walk *w)
{
    ASSERT(w->n_rows > 0 && w->table->by_id);
    return w->after[0].i;
}
