/* SPDX-License-Identifier: MIT */
#include "store/meta.h"

#include "store/internal.h"

enum err_code store_meta_get(struct store *s, const char *key, int64_t *ret_value, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_META_GET, take_one_int, &got, err, db_t(slice_of(key))) != E_OK)
        return err->code;
    if (got.found)
        *ret_value = got.value;
    return E_OK;
}

enum err_code store_meta_set(struct store *s, const char *key, int64_t value, struct err *err)
{
    return db_do(s->db, SQL_META_SET, err, db_t(slice_of(key)), db_i(value));
}

struct around {
    int64_t *below, *above;
};

static void take_around(void *ctx, const struct db_row *row)
{
    struct around *a = ctx;

    if (!db_col_null(row, 0))
        *a->below = db_col_int(row, 0);
    if (!db_col_null(row, 1))
        *a->above = db_col_int(row, 1);
}

enum err_code store_ids_around(struct store *s, int64_t split, int64_t *ret_below,
                               int64_t *ret_above, struct err *err)
{
    struct around a = {ret_below, ret_above};

    return db_do_rows(s->db, SQL_META_IDS_AROUND, take_around, &a, err, db_i(split));
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

struct count_taker {
    store_count_fn *on_count;
    void *ctx;
};

static void take_count(void *ctx, const struct db_row *row)
{
    struct count_taker *t = ctx;
    struct store_count c = {.queue = db_col_int(row, 0),
                            .state = (enum job_state)db_col_int(row, 1),
                            .n = db_col_int(row, 2)};

    if (c.state <= JOB_NONE || c.state >= JOB_STATE_COUNT)
        db_row_refuse(row, "a count is of state %d", (int)c.state);
    else
        t->on_count(t->ctx, &c);
}

enum err_code store_counts_load(struct store *s, store_count_fn *on_count, void *ctx,
                                struct err *err)
{
    struct count_taker t = {on_count, ctx};
    struct db_taker taker = {.on_row = take_count, .ctx = &t};

    return db_one(s->db, SQL_COUNT_LOAD, NULL, 0, &taker, err);
}

enum err_code store_counts_queue(struct store *s, int64_t queue, int64_t *ret_n, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_COUNT_QUEUE, take_one_int, &got, err, db_i(queue)) != E_OK)
        return err->code;
    *ret_n = got.value;
    return E_OK;
}

enum err_code store_counts_remove(struct store *s, int64_t queue, struct err *err)
{
    return db_do(s->db, SQL_COUNT_REMOVE, err, db_i(queue));
}
