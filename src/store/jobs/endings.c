/* SPDX-License-Identifier: MIT */
#include "store/jobs/endings.h"

#include "store/db/columns.h"
#include "store/internal.h"

enum err_code store_ending_add(struct store *s, const struct ending *e, struct err *err)
{
    struct slice bytes = slice_make((const char *)e->jobs, e->n_jobs * sizeof(e->jobs[0]));

    return db_do(s->db, SQL_ENDING_ADD, err, db_i(e->id), db_i(e->queue), db_i(e->state),
                 db_i(e->finished_at), db_b(bytes));
}

static const struct db_column ending_columns[] = {
    DB_NUMBER(ending, id),
    DB_NUMBER(ending, finished_at),
    DB_ARRAY(ending, jobs, n_jobs),
};
static const struct db_table ending_table = DB_TABLE("ending", ending, ending_columns);

enum err_code store_ending_oldest(struct store *s, int64_t queue, enum job_state state,
                                  struct arena *arena, struct ending *ret_ending, struct err *err)
{
    if (db_find(s->db, SQL_ENDING_OLDEST, &ending_table, arena, ret_ending, err, db_i(queue),
                db_i(state)) != E_OK)
        return err->code;
    ret_ending->queue = queue;
    ret_ending->state = state;
    return E_OK;
}

enum err_code store_ending_remove(struct store *s, int64_t id, struct err *err)
{
    return db_do(s->db, SQL_ENDING_REMOVE, err, db_i(id));
}

enum err_code store_ending_next_queue(struct store *s, int64_t above, int64_t *ret_queue,
                                      struct err *err)
{
    return db_number(s->db, SQL_ENDING_NEXT_QUEUE, ret_queue, err, db_i(above));
}

enum err_code store_ending_remove_queue(struct store *s, int64_t queue, size_t limit, size_t *ret_n,
                                        struct err *err)
{
    int64_t changed = 0;

    if (db_change(s->db, SQL_ENDING_REMOVE_QUEUE, &changed, err, db_i(queue),
                  db_i((int64_t)limit)) != E_OK)
        return err->code;
    *ret_n = (size_t)changed;
    return E_OK;
}
