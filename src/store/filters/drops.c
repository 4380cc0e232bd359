/* SPDX-License-Identifier: MIT */
#include "store/filters/drops.h"

#include "store/db/columns.h"
#include "store/internal.h"

enum err_code store_drops_add(struct store *s, const struct stored_drop *drops, size_t n,
                              struct err *err)
{
    if (n == 0)
        return E_OK;
    for (size_t i = n > DROPS_KEPT ? n - DROPS_KEPT : 0; i < n; i++)
        if (db_do(s->db, SQL_DROPS_ADD, err, db_i(drops[i].id), db_i(drops[i].queue),
                  db_i(drops[i].filter), db_i(drops[i].job), db_t(drops[i].text)) != E_OK)
            return err->code;
    return db_do(s->db, SQL_DROPS_CUT, err, db_i(drops[0].queue), db_i(DROPS_KEPT - 1));
}

static const struct db_column drop_columns[] = {
    DB_NUMBER(stored_drop, id),
    DB_NUMBER(stored_drop, queue),
    DB_NUMBER(stored_drop, filter),
    DB_NUMBER(stored_drop, job),
    DB_VALUE(DB_COLUMN_TEXT, stored_drop, text),
};
static const struct db_table drop_table = DB_TABLE("drop", stored_drop, drop_columns);

DB_EACH_FN(each_drop, stored_drop, drop_table)

enum err_code store_drops_load(struct store *s, int64_t queue, store_drop_fn *on_drop, void *ctx,
                               struct err *err)
{
    return each_drop(s->db, SQL_DROPS_LOAD, DB_ARGS(db_i(queue)), on_drop, ctx, err);
}

enum err_code store_filter_count_add(struct store *s, uint32_t node,
                                     const struct filter_count *count, struct err *err)
{
    return db_do(s->db, SQL_FILTER_COUNT_ADD, err, db_i(count->queue), db_i(count->what),
                 db_i(node), db_i(count->n));
}

static const struct db_column count_columns[] = {
    DB_NUMBER(filter_count, queue),
    DB_NUMBER(filter_count, what),
    DB_NUMBER(filter_count, n),
};
static const struct db_table count_table = DB_TABLE("count of filters of queue", filter_count,
                                                    count_columns);

DB_EACH_FN(each_count, filter_count, count_table)

enum err_code store_filter_counts_load(struct store *s, int64_t queue,
                                       store_filter_count_fn *on_count, void *ctx, struct err *err)
{
    if (queue == 0)
        return each_count(s->db, SQL_FILTER_COUNT_LOAD, DB_ARGS(), on_count, ctx, err);
    return each_count(s->db, SQL_FILTER_COUNT_QUEUE, DB_ARGS(db_i(queue)), on_count, ctx, err);
}

enum err_code store_drops_remove(struct store *s, int64_t queue, struct err *err)
{
    if (db_do(s->db, SQL_DROPS_REMOVE, err, db_i(queue)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_FILTER_COUNT_REMOVE, err, db_i(queue));
}
