/* SPDX-License-Identifier: MIT */
#include "store/filters/waits.h"

#include "base/clock.h"
#include "store/db/columns.h"
#include "store/internal.h"

enum err_code store_filter_wait_add(struct store *s, int64_t job, int64_t queue, struct err *err)
{
    return db_do(s->db, SQL_FILTER_WAIT_ADD, err, db_i(job), db_i(queue));
}

static const struct db_column wait_columns[] = {
    DB_NUMBER(filter_wait, job),
    DB_NUMBER(filter_wait, queue),
    DB_NUMBER(filter_wait, due_at),
    DB_NUMBER(filter_wait, tries),
    DB_VALUE(DB_COLUMN_TEXT, filter_wait, why),
};
static const struct db_table wait_table = DB_TABLE("wait for a filter", filter_wait, wait_columns);

enum err_code store_filter_wait_find(struct store *s, int64_t job, struct arena *arena,
                                     struct filter_wait *ret_wait, struct err *err)
{
    return db_find(s->db, SQL_FILTER_WAIT_FIND, &wait_table, arena, ret_wait, err, db_i(job));
}

enum err_code store_filter_wait_fail(struct store *s, const struct filter_wait *wait,
                                     struct err *err)
{
    return db_do(s->db, SQL_FILTER_WAIT_FAIL, err, db_i(wait->job), db_i(wait->due_at),
                 db_i(wait->tries), db_t(wait->why));
}

enum err_code store_filter_wait_remove(struct store *s, int64_t job, struct err *err)
{
    return db_do(s->db, SQL_FILTER_WAIT_REMOVE, err, db_i(job));
}

enum err_code store_filter_waits_due(struct store *s, int64_t queue, int64_t now_at, size_t max,
                                     int64_t *ret_jobs, size_t *ret_n, struct err *err)
{
    return db_numbers(s->db, SQL_FILTER_WAITS_DUE, ret_jobs, ret_n, err, db_i(queue), db_i(now_at),
                      db_i((int64_t)max));
}

enum err_code store_filter_waits_next(struct store *s, int64_t queue, int64_t now_at,
                                      int64_t *ret_at, struct err *err)
{
    int64_t at = 0;

    if (db_number(s->db, SQL_FILTER_WAITS_NEXT, &at, err, db_i(queue), db_i(now_at)) != E_OK)
        return err->code;
    *ret_at = at == 0 ? TIME_NEVER : at;
    return E_OK;
}

struct queue_reader {
    store_filter_queue_fn *on_queue;
    void *ctx;
};

static void on_queue_row(void *ctx, const struct db_row *row)
{
    const struct queue_reader *r = ctx;

    r->on_queue(r->ctx, db_col_int(row, 0));
}

enum err_code store_filter_waits_queues(struct store *s, store_filter_queue_fn *on_queue, void *ctx,
                                        struct err *err)
{
    struct queue_reader r = {on_queue, ctx};

    return db_rows(s->db, SQL_FILTER_WAITS_QUEUES, on_queue_row, &r, err);
}
