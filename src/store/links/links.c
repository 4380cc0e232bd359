/*
 * Signals and joins.
 */
/* SPDX-License-Identifier: MIT */
#include "store/links/links.h"

#include <endian.h>

#include "store/db/columns.h"
#include "store/internal.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "ids are kept as little endian bytes");

/* An empty text, not an absent one. */
static struct db_value text_value(struct slice s)
{
    return (struct db_value){.type = DB_TEXT, .s = s};
}

/* ---- signals ---- */

static const struct db_column signal_columns[] = {
    DB_NUMBER(stored_signal, id),      DB_VALUE(DB_COLUMN_TEXT, stored_signal, name),
    DB_NUMBER(stored_signal, count),   DB_NUMBER(stored_signal, changed_at),
    DB_NUMBER(stored_signal, waiters),
};
static const struct db_table signal_table = DB_TABLE("signal", stored_signal, signal_columns);

enum err_code store_signal_find(struct store *s, struct slice name, struct arena *arena,
                                struct stored_signal *ret, struct err *err)
{
    return db_find(s->db, SQL_SIGNAL_FIND, &signal_table, arena, ret, err, text_value(name));
}

enum err_code store_signal_hold(struct store *s, struct slice name, struct arena *arena,
                                struct stored_signal *ret, struct err *err)
{
    return db_find(s->db, SQL_SIGNAL_HOLD, &signal_table, arena, ret, err, text_value(name));
}

enum err_code store_signal_load(struct store *s, int64_t id, struct arena *arena,
                                struct stored_signal *ret, struct err *err)
{
    return db_find(s->db, SQL_SIGNAL_LOAD, &signal_table, arena, ret, err, db_i(id));
}

struct signal_levels {
    const int64_t *ids;
    size_t n;
    int64_t *levels;
    size_t n_found;
};

static void on_level_row(void *ctx, const struct db_row *row)
{
    struct signal_levels *t = ctx;
    size_t place;

    if (!store_row_place(row, t->ids, t->n, &place))
        return;
    t->levels[place] = db_col_int(row, 1);
    t->n_found++;
}

enum err_code store_signals_hold(struct store *s, const int64_t *ids, size_t n, int64_t *ret_levels,
                                 struct arena *arena, struct err *err)
{
    struct db_rows rows = store_id_rows(ids, n, arena);
    struct signal_levels t = {.ids = ids, .n = n, .levels = ret_levels};

    for (size_t i = 0; i < n; i++)
        ret_levels[i] = -1;
    if (db_rows(s->db, SQL_SIGNALS_HOLD, on_level_row, &t, err, db_r(&rows)) != E_OK)
        return err->code;
    if (t.n_found == n)
        return E_OK;
    return db_rows(s->db, SQL_SIGNALS_ABSENT, on_level_row, &t, err, db_r(&rows));
}

enum err_code store_signal_put(struct store *s, const struct stored_signal *signal, struct err *err)
{
    return db_do(s->db, SQL_SIGNAL_PUT, err, db_i(signal->id), text_value(signal->name),
                 db_i(signal->count), db_i(signal->changed_at));
}

enum err_code store_signal_remove(struct store *s, int64_t id, struct err *err)
{
    return db_do(s->db, SQL_SIGNAL_REMOVE, err, db_i(id));
}

DB_EACH_FN(each_signal, stored_signal, signal_table)

enum err_code store_signals_list(struct store *s, struct slice above, size_t limit,
                                 store_signal_fn *on_signal, void *ctx, struct err *err)
{
    return each_signal(s->db, SQL_SIGNALS_LIST, DB_ARGS(text_value(above), db_i((int64_t)limit)),
                       on_signal, ctx, err);
}

/* ---- joins ---- */

static const struct db_column join_columns[] = {
    DB_NUMBER(stored_join, id),
    DB_VALUE(DB_COLUMN_TEXT, stored_join, name),
    DB_VALUE(DB_COLUMN_TEXT, stored_join, definition),
    DB_NUMBER(stored_join, fired),
    DB_NUMBER(stored_join, fired_at),
};
static const struct db_table join_table = DB_TABLE("join", stored_join, join_columns);

enum err_code store_join_find(struct store *s, struct slice name, struct arena *arena,
                              struct stored_join *ret, struct err *err)
{
    return db_find(s->db, SQL_JOIN_FIND, &join_table, arena, ret, err, text_value(name));
}

enum err_code store_join_put(struct store *s, const struct stored_join *join, struct err *err)
{
    return db_do(s->db, SQL_JOIN_PUT, err, db_i(join->id), text_value(join->name),
                 text_value(join->definition), db_i(join->fired), db_i(join->fired_at));
}

enum err_code store_join_fired(struct store *s, int64_t id, int64_t times, int64_t fired_at,
                               struct err *err)
{
    return db_do(s->db, SQL_JOIN_FIRED, err, db_i(id), db_i(times), db_i(fired_at));
}

enum err_code store_join_hold_key(struct store *s, int64_t id, struct slice key, struct err *err)
{
    return s->shared ? db_do(s->db, SQL_JOIN_HOLD_KEY, err, db_i(id), text_value(key)) : E_OK;
}

enum err_code store_join_hold(struct store *s, int64_t id, struct err *err)
{
    return s->shared ? db_do(s->db, SQL_JOIN_HOLD, err, db_i(id)) : E_OK;
}

enum err_code store_join_remove(struct store *s, int64_t id, struct err *err)
{
    if (db_do(s->db, SQL_ARRIVALS_CLEAR, err, db_i(id)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_JOIN_REMOVE, err, db_i(id));
}

DB_EACH_FN(each_join, stored_join, join_table)

enum err_code store_joins_list(struct store *s, struct slice above, size_t limit,
                               store_join_fn *on_join, void *ctx, struct err *err)
{
    return each_join(s->db, SQL_JOINS_LIST, DB_ARGS(text_value(above), db_i((int64_t)limit)),
                     on_join, ctx, err);
}

/* ---- arrivals ---- */

static const struct db_column arrivals_columns[] = {
    DB_NUMBER(stored_arrivals, join),        DB_VALUE(DB_COLUMN_TEXT, stored_arrivals, key),
    DB_NUMBER(stored_arrivals, count),       DB_NUMBER(stored_arrivals, first_at),
    DB_ARRAY(stored_arrivals, jobs, n_jobs),
};
static const struct db_table arrivals_table = DB_TABLE("arrivals of join", stored_arrivals,
                                                       arrivals_columns);

enum err_code store_arrivals_find(struct store *s, int64_t join, struct slice key,
                                  struct arena *arena, struct stored_arrivals *ret, struct err *err)
{
    if (db_find(s->db, SQL_ARRIVALS_FIND, &arrivals_table, arena, ret, err, db_i(join),
                text_value(key)) != E_OK)
        return err->code;
    ret->join = join;
    if (ret->count == 0)
        ret->key = key;
    return E_OK;
}

enum err_code store_arrivals_put(struct store *s, const struct stored_arrivals *arrivals,
                                 struct err *err)
{
    const void *jobs = arrivals->n_jobs == 0 ? (const void *)"" : arrivals->jobs;

    return db_do(s->db, SQL_ARRIVALS_PUT, err, db_i(arrivals->join), text_value(arrivals->key),
                 db_i(arrivals->count), db_i(arrivals->first_at),
                 db_b(slice_make(jobs, arrivals->n_jobs * sizeof(int64_t))));
}

enum err_code store_arrivals_remove(struct store *s, int64_t join, struct slice key,
                                    struct err *err)
{
    return db_do(s->db, SQL_ARRIVALS_REMOVE, err, db_i(join), text_value(key));
}

DB_EACH_FN(each_arrivals, stored_arrivals, arrivals_table)

enum err_code store_arrivals_list(struct store *s, int64_t join, struct slice above, size_t limit,
                                  store_arrivals_fn *on_arrivals, void *ctx, struct err *err)
{
    return each_arrivals(s->db, SQL_ARRIVALS_LIST,
                         DB_ARGS(db_i(join), text_value(above), db_i(above.data == NULL),
                                 db_i((int64_t)limit)),
                         on_arrivals, ctx, err);
}

enum err_code store_arrivals_count(struct store *s, int64_t join, int64_t *ret_keys,
                                   struct err *err)
{
    return db_number(s->db, SQL_ARRIVALS_COUNT, ret_keys, err, db_i(join));
}
