/* SPDX-License-Identifier: MIT */
#include "store/work.h"

#include "store/internal.h"

enum err_code store_work_add(struct store *s, const struct stored_work *w, struct err *err)
{
    return db_do(s->db, SQL_WORK_ADD, err, db_i(w->id), db_i(w->kind), db_t(w->args), db_i(w->last),
                 db_i(w->created_at));
}

enum err_code store_work_step(struct store *s, const struct stored_work *w, struct err *err)
{
    return db_do(s->db, SQL_WORK_STEP, err, db_i(w->id), db_i(w->phase), db_i(w->cursor),
                 db_i(w->changed), db_i(w->refused), db_i(w->finished_at));
}

struct work_taker {
    store_work_fn *on_work;
    void *ctx;
};

static void take_work(void *ctx, const struct db_row *row)
{
    struct work_taker *t = ctx;
    struct stored_work w = {
        .id = db_col_int(row, 0),
        .kind = (int)db_col_int(row, 1),
        .args = db_col_text(row, 2),
        .phase = (int)db_col_int(row, 3),
        .cursor = db_col_int(row, 4),
        .last = db_col_int(row, 5),
        .changed = db_col_int(row, 6),
        .refused = db_col_int(row, 7),
        .created_at = db_col_int(row, 8),
        .finished_at = db_col_int(row, 9),
    };

    t->on_work(t->ctx, &w);
}

enum err_code store_work_load(struct store *s, store_work_fn *on_work, void *ctx, struct err *err)
{
    struct work_taker t = {on_work, ctx};
    struct db_taker taker = {.on_row = take_work, .ctx = &t};

    return db_one(s->db, SQL_WORK_LOAD, NULL, 0, &taker, err);
}

enum err_code store_work_next(struct store *s, store_work_fn *on_work, void *ctx, struct err *err)
{
    struct work_taker t = {on_work, ctx};
    struct db_taker taker = {.on_row = take_work, .ctx = &t};

    return db_one(s->db, SQL_WORK_NEXT, NULL, 0, &taker, err);
}

enum err_code store_work_find(struct store *s, int64_t id, store_work_fn *on_work, void *ctx,
                              struct err *err)
{
    struct work_taker t = {on_work, ctx};

    return db_do_rows(s->db, SQL_WORK_FIND, take_work, &t, err, db_i(id));
}

enum err_code store_work_remove_old(struct store *s, int64_t before_at, struct err *err)
{
    return db_do(s->db, SQL_WORK_REMOVE_OLD, err, db_i(before_at));
}
