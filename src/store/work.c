/* SPDX-License-Identifier: MIT */
#include "store/work.h"

#include "store/db/columns.h"
#include "store/internal.h"

static const struct db_column work_columns[] = {
    DB_NUMBER(stored_work, id),
    DB_NUMBER(stored_work, kind),
    DB_VALUE(DB_COLUMN_TEXT, stored_work, args),
    DB_NUMBER(stored_work, phase),
    DB_NUMBER(stored_work, cursor),
    DB_NUMBER(stored_work, last),
    DB_NUMBER(stored_work, changed),
    DB_NUMBER(stored_work, refused),
    DB_NUMBER(stored_work, created_at),
    DB_NUMBER(stored_work, finished_at),
};
static const struct db_table work_table = DB_TABLE("work", stored_work, work_columns);

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

DB_EACH_FN(each_work, stored_work, work_table)

enum err_code store_work_load(struct store *s, store_work_fn *on_work, void *ctx, struct err *err)
{
    return each_work(s->db, SQL_WORK_LOAD, DB_ARGS(), on_work, ctx, err);
}

enum err_code store_work_next(struct store *s, store_work_fn *on_work, void *ctx, struct err *err)
{
    return each_work(s->db, SQL_WORK_NEXT, DB_ARGS(), on_work, ctx, err);
}

enum err_code store_work_find(struct store *s, int64_t id, store_work_fn *on_work, void *ctx,
                              struct err *err)
{
    return each_work(s->db, SQL_WORK_FIND, DB_ARGS(db_i(id)), on_work, ctx, err);
}

enum err_code store_work_remove_old(struct store *s, int64_t before_at, struct err *err)
{
    return db_do(s->db, SQL_WORK_REMOVE_OLD, err, db_i(before_at));
}
