/* SPDX-License-Identifier: MIT */
#include "store/clock/expiries.h"

#include "base/clock.h"
#include "store/internal.h"

enum { SET_ROWS = 1000, EXPIRY_COLUMNS = 2 }; /* rows of one statement */

enum err_code store_expiries_add(struct store *s, const struct stored_expiry *items, size_t n,
                                 struct arena *arena, struct err *err)
{
    size_t most = n < SET_ROWS ? n : SET_ROWS;
    struct db_value *values = arena_array(arena, most * EXPIRY_COLUMNS + 1, sizeof(*values));

    for (size_t done = 0; done < n; done += most) {
        struct db_rows rows = {values, n - done < most ? n - done : most, EXPIRY_COLUMNS};

        for (size_t i = 0; i < rows.n_rows; i++) {
            values[i * EXPIRY_COLUMNS] = db_i(items[done + i].job);
            values[i * EXPIRY_COLUMNS + 1] = db_i(items[done + i].at);
        }
        if (db_do(s->db, SQL_EXPIRIES_ADD, err, db_r(&rows)) != E_OK)
            return err->code;
    }
    return E_OK;
}

enum err_code store_expiries_due(struct store *s, int64_t now_at, int64_t *jobs, size_t limit,
                                 size_t *ret_n, struct err *err)
{
    return db_numbers(s->db, SQL_EXPIRIES_DUE, jobs, ret_n, err, db_i(now_at),
                      db_i((int64_t)limit));
}

enum err_code store_expiries_put_off(struct store *s, const int64_t *jobs, size_t n,
                                     int64_t look_at, struct arena *arena, struct err *err)
{
    struct db_rows rows = store_id_rows(jobs, n, arena);

    return n == 0 ? E_OK : db_do(s->db, SQL_EXPIRIES_PUT_OFF, err, db_r(&rows), db_i(look_at));
}

enum err_code store_expiries_remove(struct store *s, const int64_t *jobs, size_t n,
                                    struct arena *arena, struct err *err)
{
    struct db_rows rows = store_id_rows(jobs, n, arena);

    return n == 0 ? E_OK : db_do(s->db, SQL_EXPIRIES_REMOVE, err, db_r(&rows));
}

enum err_code store_expiries_next(struct store *s, int64_t *ret_at, struct err *err)
{
    int64_t at = TIME_NEVER;

    if (db_number_if(s->db, SQL_EXPIRIES_NEXT, &at, err) != E_OK)
        return err->code;
    *ret_at = at;
    return E_OK;
}

enum err_code store_expiry_of(struct store *s, int64_t job, int64_t *ret_at, struct err *err)
{
    int64_t at = 0;

    if (db_number_if(s->db, SQL_EXPIRY_OF, &at, err, db_i(job)) != E_OK)
        return err->code;
    *ret_at = at;
    return E_OK;
}

struct passed_marks {
    const int64_t *jobs;
    size_t n;
    bool *passed;
};

static void on_passed_row(void *ctx, const struct db_row *row)
{
    struct passed_marks *t = ctx;
    int64_t id = db_col_int(row, 0);

    for (size_t i = 0; i < t->n; i++)
        if (t->jobs[i] == id)
            t->passed[i] = true;
}

enum err_code store_expiries_passed(struct store *s, const int64_t *jobs, size_t n, int64_t now_at,
                                    bool *ret_passed, struct arena *arena, struct err *err)
{
    struct passed_marks marks = {jobs, n, ret_passed};
    struct db_rows rows = store_id_rows(jobs, n, arena);

    for (size_t i = 0; i < n; i++)
        ret_passed[i] = false;
    return db_rows(s->db, SQL_EXPIRIES_PASSED, on_passed_row, &marks, err, db_r(&rows),
                   db_i(now_at));
}
