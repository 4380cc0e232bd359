/* SPDX-License-Identifier: MIT */
#include "store/jobs/endings.h"

#include <string.h>

#include "store/internal.h"

enum err_code store_ending_add(struct store *s, const struct ending *e, struct err *err)
{
    struct slice bytes = slice_make((const char *)e->jobs, e->n_jobs * sizeof(e->jobs[0]));

    return db_do(s->db, SQL_ENDING_ADD, err, db_i(e->id), db_i(e->queue), db_i(e->state),
                 db_i(e->finished_at), db_b(bytes));
}

struct ending_taker {
    struct ending *ending;
    struct arena *arena;
};

static void take_ending(void *ctx, const struct db_row *row)
{
    struct ending_taker *t = ctx;
    struct slice bytes = db_col_blob(row, 2);
    size_t n = bytes.size / sizeof(int64_t);
    int64_t *jobs = arena_array(t->arena, n, sizeof(int64_t));

    memcpy(jobs, bytes.data, n * sizeof(int64_t));
    t->ending->id = db_col_int(row, 0);
    t->ending->finished_at = db_col_int(row, 1);
    t->ending->jobs = jobs;
    t->ending->n_jobs = n;
}

enum err_code store_ending_oldest(struct store *s, int64_t queue, enum job_state state,
                                  struct arena *arena, struct ending *ret_ending, struct err *err)
{
    struct ending_taker t = {ret_ending, arena};

    *ret_ending = (struct ending){.queue = queue, .state = state};
    return db_do_rows(s->db, SQL_ENDING_OLDEST, take_ending, &t, err, db_i(queue), db_i(state));
}

enum err_code store_ending_remove(struct store *s, int64_t id, struct err *err)
{
    return db_do(s->db, SQL_ENDING_REMOVE, err, db_i(id));
}

enum err_code store_ending_next_queue(struct store *s, int64_t above, int64_t *ret_queue,
                                      struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_ENDING_NEXT_QUEUE, take_one_int, &got, err, db_i(above)) != E_OK)
        return err->code;
    *ret_queue = got.value;
    return E_OK;
}

enum err_code store_ending_remove_queue(struct store *s, int64_t queue, size_t limit, size_t *ret_n,
                                        struct err *err)
{
    const struct db_value args[] = {db_i(queue), db_i((int64_t)limit)};
    struct db_taker taker = {0};

    if (db_one(s->db, SQL_ENDING_REMOVE_QUEUE, args, ARRAY_LEN(args), &taker, err) != E_OK)
        return err->code;
    *ret_n = (size_t)taker.changed;
    return E_OK;
}
