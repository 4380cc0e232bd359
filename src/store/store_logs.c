/* SPDX-License-Identifier: MIT */
#include "store/store_logs.h"

#include "store/store_internal.h"

enum { PIECE_BYTES = 8192 }; /* a piece that has so much is not added to */

enum err_code store_log_size(struct store *s, int64_t job, int64_t *ret_size, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_LOG_SIZE, take_one_int, &got, err, db_i(job)) != E_OK)
        return err->code;
    *ret_size = got.value;
    return E_OK;
}

enum err_code store_log_add(struct store *s, int64_t job, int64_t first, struct slice data,
                            struct err *err)
{
    const struct db_value args[] = {db_i(job), db_b(data), db_i(PIECE_BYTES)};
    struct db_taker taker = {0};

    if (db_one(s->db, SQL_LOG_EXTEND, args, ARRAY_LEN(args), &taker, err) != E_OK)
        return err->code;
    if (taker.changed > 0)
        return E_OK;
    return db_do(s->db, SQL_LOG_ADD, err, db_i(job), db_i(first), db_b(data));
}

struct piece_taker {
    store_log_fn *on_piece;
    void *ctx;
};

static void take_piece(void *ctx, const struct db_row *row)
{
    struct piece_taker *t = ctx;

    t->on_piece(t->ctx, db_col_int(row, 0), db_col_blob(row, 1));
}

enum err_code store_log_read(struct store *s, int64_t job, int64_t from, int64_t to,
                             store_log_fn *on_piece, void *ctx, struct err *err)
{
    struct piece_taker t = {on_piece, ctx};

    return db_do_rows(s->db, SQL_LOG_READ, take_piece, &t, err, db_i(job), db_i(from), db_i(to));
}
