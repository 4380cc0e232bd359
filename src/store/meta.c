/* SPDX-License-Identifier: MIT */
#include "store/meta.h"

#include "store/db/columns.h"
#include "store/internal.h"

enum err_code store_meta_get(struct store *s, const char *key, int64_t *ret_value, struct err *err)
{
    return db_number_if(s->db, SQL_META_GET, ret_value, err, db_t(slice_of(key)));
}

enum err_code store_meta_set(struct store *s, const char *key, int64_t value, struct err *err)
{
    return db_do(s->db, SQL_META_SET, err, db_t(slice_of(key)), db_i(value));
}

struct ids_around {
    int64_t below, above;
    bool has_below, has_above;
};

static const struct db_column around_columns[] = {
    DB_NUMBER(ids_around, below, .has = offsetof(struct ids_around, has_below)),
    DB_NUMBER(ids_around, above, .has = offsetof(struct ids_around, has_above)),
};
static const struct db_table around_table = DB_TABLE("ids", ids_around, around_columns);

enum err_code store_ids_around(struct store *s, int64_t split, int64_t *ret_below,
                               int64_t *ret_above, struct err *err)
{
    struct ids_around ids;

    if (db_find(s->db, SQL_META_IDS_AROUND, &around_table, NULL, &ids, err, db_i(split)) != E_OK)
        return err->code;
    if (ids.has_below)
        *ret_below = ids.below;
    if (ids.has_above)
        *ret_above = ids.above;
    return E_OK;
}

enum err_code store_counts_add(struct store *s, uint32_t node, const struct store_count *counts,
                               size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (counts[i].n != 0 && db_do(s->db, SQL_COUNT_ADD, err, db_i(counts[i].queue),
                                      db_i(counts[i].state), db_i(node), db_i(counts[i].n)) != E_OK)
            return err->code;
    return E_OK;
}

static const struct db_column count_columns[] = {
    DB_NUMBER(store_count, queue),
    DB_NUMBER(store_count, state, .min = JOB_NONE + 1, .max = JOB_STATE_COUNT - 1),
    DB_NUMBER(store_count, n),
};
static const struct db_table count_table = DB_TABLE("count of queue", store_count, count_columns);

DB_EACH_FN(each_count, store_count, count_table)

enum err_code store_counts_load(struct store *s, store_count_fn *on_count, void *ctx,
                                struct err *err)
{
    return each_count(s->db, SQL_COUNT_LOAD, DB_ARGS(), on_count, ctx, err);
}

enum err_code store_counts_queue(struct store *s, int64_t queue, int64_t *ret_n, struct err *err)
{
    return db_number(s->db, SQL_COUNT_QUEUE, ret_n, err, db_i(queue));
}

enum err_code store_counts_ready(struct store *s, int64_t queue, int64_t *ret_n, struct err *err)
{
    return db_number(s->db, SQL_COUNT_READY, ret_n, err, db_i(queue));
}

enum err_code store_counts_waiting(struct store *s, int64_t queue, int64_t *ret_n, struct err *err)
{
    return db_number(s->db, SQL_COUNT_WAITING, ret_n, err, db_i(queue));
}

enum err_code store_counts_remove(struct store *s, int64_t queue, struct err *err)
{
    return db_do(s->db, SQL_COUNT_REMOVE, err, db_i(queue));
}
