/*
 * Waits, and the releases of those that were not looked at yet.
 */
/* SPDX-License-Identifier: MIT */
#include "store/db/columns.h"
#include "store/internal.h"
#include "store/links/links.h"

/* So many rows go into one statement. */
enum { SET_ROWS = 1000 };

enum { WAIT_COLUMNS = 8 };

/* ---- waits ---- */

static enum err_code add_set(struct store *s, const struct stored_wait *waits, size_t n,
                             struct db_value *values, struct err *err)
{
    struct db_rows rows = {values, n, WAIT_COLUMNS};

    for (size_t i = 0; i < n; i++) {
        const struct stored_wait *w = &waits[i];
        const struct db_value row[WAIT_COLUMNS] = {
            db_i(w->waiter), db_i(w->seq), db_i(w->kind),  db_i(w->target),
            db_i(w->step),   db_i(w->on),  db_i(w->count), db_i(w->take),
        };

        for (size_t c = 0; c < WAIT_COLUMNS; c++)
            values[i * WAIT_COLUMNS + c] = row[c];
    }
    return db_do(s->db, SQL_WAITS_ADD, err, db_r(&rows));
}

enum err_code store_waits_add(struct store *s, const struct stored_wait *waits, size_t n,
                              struct arena *arena, struct err *err)
{
    size_t most = n < SET_ROWS ? n : SET_ROWS;
    struct db_value *values = arena_array(arena, most * WAIT_COLUMNS + 1, sizeof(*values));

    for (size_t done = 0; done < n; done += most) {
        size_t count = n - done < most ? n - done : most;

        if (add_set(s, waits + done, count, values, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

static bool wait_is_possible(void *item, const struct db_row *row, struct arena *arena)
{
    const struct stored_wait *w = item;

    (void)row;
    (void)arena;
    return w->kind != AFTER_JOB || (w->on >= AFTER_SUCCESS && w->on <= AFTER_END);
}

static const struct db_column wait_columns[] = {
    DB_NUMBER(stored_wait, waiter),
    DB_NUMBER(stored_wait, seq),
    DB_NUMBER(stored_wait, kind, .min = AFTER_JOB, .max = AFTER_GROUP),
    DB_NUMBER(stored_wait, target),
    DB_NUMBER(stored_wait, step),
    DB_NUMBER(stored_wait, on),
    DB_NUMBER(stored_wait, count),
    DB_NUMBER(stored_wait, take),
};
static const struct db_table wait_table = DB_TABLE("condition of job", stored_wait, wait_columns,
                                                   .check = wait_is_possible);

DB_EACH_FN(each_wait, stored_wait, wait_table)

enum err_code store_waits_on(struct store *s, int64_t target, int64_t above_waiter, size_t limit,
                             store_wait_fn *on_wait, void *ctx, struct err *err)
{
    return each_wait(s->db, SQL_WAITS_ON,
                     DB_ARGS(db_i(target), db_i(above_waiter), db_i((int64_t)limit)), on_wait, ctx,
                     err);
}

enum err_code store_waits_least(struct store *s, int64_t signal, int64_t *ret_level,
                                struct err *err)
{
    return db_number(s->db, SQL_WAITS_LEAST, ret_level, err, db_i(signal));
}

enum err_code store_waits_on_step(struct store *s, int64_t target, int step, size_t limit,
                                  store_wait_fn *on_wait, void *ctx, struct err *err)
{
    return each_wait(s->db, SQL_WAITS_ON_STEP,
                     DB_ARGS(db_i(target), db_i(step), db_i((int64_t)limit)), on_wait, ctx, err);
}

enum err_code store_waits_of(struct store *s, int64_t waiter, size_t limit, store_wait_fn *on_wait,
                             void *ctx, struct err *err)
{
    return each_wait(s->db, SQL_WAITS_OF, DB_ARGS(db_i(waiter), db_i((int64_t)limit)), on_wait, ctx,
                     err);
}

/* ---- holding those who wait ---- */

struct waiter_marks {
    const int64_t *ids;
    size_t n;
    bool *there, *held;
};

static void on_waiter_row(void *ctx, const struct db_row *row)
{
    struct waiter_marks *t = ctx;
    bool *seen = db_col_int(row, 1) == 1 ? t->held : t->there;
    size_t place;

    if (store_row_place(row, t->ids, t->n, &place))
        seen[place] = true;
}

enum err_code store_waiters_hold(struct store *s, const int64_t *ids, size_t n, bool *ret_busy,
                                 struct arena *arena, struct err *err)
{
    struct db_rows rows = store_id_rows(ids, n, arena);
    const struct db_value args[] = {db_r(&rows)};
    struct waiter_marks t = {.ids = ids,
                             .n = n,
                             .there = arena_array(arena, n + 1, sizeof(bool)),
                             .held = arena_array(arena, n + 1, sizeof(bool))};
    /* One that ends meanwhile is there no more at the second look. */
    struct db_call calls[] = {
        {.sql = SQL_WAITERS_HOLD, .args = args, .n_args = 1, .on_row = on_waiter_row, .ctx = &t},
        {.sql = SQL_WAITERS_LOOK, .args = args, .n_args = 1, .on_row = on_waiter_row, .ctx = &t}};

    if (s->shared && db_run(s->db, calls, ARRAY_LEN(calls), err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        ret_busy[i] = t.there[i] && !t.held[i];
    return E_OK;
}

enum err_code store_wait_remove(struct store *s, int64_t waiter, int64_t seq, struct err *err)
{
    return db_do(s->db, SQL_WAIT_REMOVE, err, db_i(waiter), db_i(seq));
}

enum err_code store_waits_forget(struct store *s, int64_t waiter, struct err *err)
{
    return db_do(s->db, SQL_WAITS_FORGET, err, db_i(waiter));
}

enum err_code store_waiters_count(struct store *s, int64_t target, int64_t *ret_n, struct err *err)
{
    return db_number(s->db, SQL_WAITERS_COUNT, ret_n, err, db_i(target));
}

/* ---- what is waited for ---- */

struct awaited_states {
    const int64_t *ids;
    size_t n;
    enum job_state *states;
    size_t n_found;
};

static void on_state_row(void *ctx, const struct db_row *row)
{
    struct awaited_states *t = ctx;
    int64_t state = db_col_int(row, 1);
    size_t place;

    if (!store_row_place(row, t->ids, t->n, &place))
        return;
    if (state <= JOB_NONE || state >= JOB_STATE_COUNT) {
        db_row_refuse(row, "job %lld: impossible state", (long long)t->ids[place]);
        return;
    }
    t->states[place] = (enum job_state)state;
    t->n_found++;
}

static enum err_code await_set(struct store *s, struct awaited_states *t, struct db_value *values,
                               struct err *err)
{
    struct db_rows rows = {values, t->n, 1};

    for (size_t i = 0; i < t->n; i++) {
        values[i] = db_i(t->ids[i]);
        t->states[i] = JOB_NONE;
    }
    if (db_rows(s->db, SQL_AWAIT_LOOK, on_state_row, t, err, db_r(&rows)) != E_OK)
        return err->code;
    if (t->n_found > 0 && db_do(s->db, SQL_AWAIT_MARK, err, db_r(&rows)) != E_OK)
        return err->code;
    if (t->n_found == t->n)
        return E_OK;
    return db_rows(s->db, SQL_AWAIT_LOOK_ENDED, on_state_row, t, err, db_r(&rows));
}

enum err_code store_jobs_await(struct store *s, const int64_t *ids, size_t n,
                               enum job_state *ret_states, struct arena *arena, struct err *err)
{
    size_t most = n < SET_ROWS ? n : SET_ROWS;
    struct db_value *values = arena_array(arena, most + 1, sizeof(*values));

    for (size_t done = 0; done < n; done += most) {
        struct awaited_states t = {.ids = ids + done,
                                   .n = n - done < most ? n - done : most,
                                   .states = ret_states + done};

        if (await_set(s, &t, values, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* ---- releases ---- */

enum err_code store_release_put(struct store *s, const struct stored_release *r, struct err *err)
{
    return db_do(s->db, SQL_RELEASE_PUT, err, db_i(r->target), db_i(r->state), db_i(r->cursor));
}

enum err_code store_release_remove(struct store *s, int64_t target, struct err *err)
{
    return db_do(s->db, SQL_RELEASE_REMOVE, err, db_i(target));
}

static const struct db_column release_columns[] = {
    DB_NUMBER(stored_release, target),
    DB_NUMBER(stored_release, state),
    DB_NUMBER(stored_release, cursor),
};
static const struct db_table release_table = DB_TABLE("release of", stored_release,
                                                      release_columns);

enum err_code store_release_find(struct store *s, int64_t target, struct stored_release *ret,
                                 struct err *err)
{
    return db_find(s->db, SQL_RELEASE_FIND, &release_table, NULL, ret, err, db_i(target));
}

enum err_code store_release_any(struct store *s, bool *ret_any, struct err *err)
{
    return db_exists(s->db, SQL_RELEASE_ANY, ret_any, err);
}

enum err_code store_release_next(struct store *s, int64_t above, struct stored_release *ret,
                                 struct err *err)
{
    return db_find(s->db, SQL_RELEASE_NEXT, &release_table, NULL, ret, err, db_i(above));
}

/* ---- what was cancelled by an end ---- */

enum err_code store_undone_put(struct store *s, int64_t waiter, int64_t target, struct err *err)
{
    return db_do(s->db, SQL_UNDONE_PUT, err, db_i(waiter), db_i(target));
}

enum err_code store_undone_remove(struct store *s, int64_t waiter, struct err *err)
{
    return db_do(s->db, SQL_UNDONE_REMOVE, err, db_i(waiter));
}

enum err_code store_undone_by(struct store *s, int64_t target, int64_t above, size_t limit,
                              int64_t *ret_waiters, size_t *ret_n, struct err *err)
{
    return db_numbers(s->db, SQL_UNDONE_BY, ret_waiters, ret_n, err, db_i(target), db_i(above),
                      db_i((int64_t)limit));
}

enum err_code store_revival_put(struct store *s, const struct stored_revival *r, struct err *err)
{
    return db_do(s->db, SQL_REVIVAL_PUT, err, db_i(r->target), db_i(r->cursor));
}

enum err_code store_revival_remove(struct store *s, int64_t target, struct err *err)
{
    return db_do(s->db, SQL_REVIVAL_REMOVE, err, db_i(target));
}

static const struct db_column revival_columns[] = {
    DB_NUMBER(stored_revival, target),
    DB_NUMBER(stored_revival, cursor),
};
static const struct db_table revival_table = DB_TABLE("revival of", stored_revival,
                                                      revival_columns);

enum err_code store_revival_next(struct store *s, struct stored_revival *ret, struct err *err)
{
    return db_find(s->db, SQL_REVIVAL_NEXT, &revival_table, NULL, ret, err);
}
