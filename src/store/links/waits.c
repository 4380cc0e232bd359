/*
 * Waits, and the releases of those that were not looked at yet.
 */
/* SPDX-License-Identifier: MIT */
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

struct wait_taker {
    store_wait_fn *on_wait;
    void *ctx;
};

static void take_wait(void *ctx, const struct db_row *row)
{
    struct wait_taker *t = ctx;
    struct stored_wait w = {
        .waiter = db_col_int(row, 0),
        .seq = db_col_int(row, 1),
        .kind = (enum after_kind)db_col_int(row, 2),
        .target = db_col_int(row, 3),
        .step = (int)db_col_int(row, 4),
        .on = (enum after_on)db_col_int(row, 5),
        .count = db_col_int(row, 6),
        .take = db_col_int(row, 7) != 0,
    };

    if (w.kind < AFTER_JOB || w.kind > AFTER_SIGNAL ||
        (w.kind == AFTER_JOB && (w.on < AFTER_SUCCESS || w.on > AFTER_END)))
        db_row_refuse(row, "job %lld waits for what cannot be", (long long)w.waiter);
    else
        t->on_wait(t->ctx, &w);
}

enum err_code store_waits_on(struct store *s, int64_t target, int64_t above_waiter, size_t limit,
                             store_wait_fn *on_wait, void *ctx, struct err *err)
{
    struct wait_taker t = {on_wait, ctx};

    return db_do_rows(s->db, SQL_WAITS_ON, take_wait, &t, err, db_i(target), db_i(above_waiter),
                      db_i((int64_t)limit));
}

enum err_code store_waits_least(struct store *s, int64_t signal, int64_t *ret_level,
                                struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_WAITS_LEAST, take_one_int, &got, err, db_i(signal)) != E_OK)
        return err->code;
    *ret_level = got.value;
    return E_OK;
}

enum err_code store_waits_on_step(struct store *s, int64_t target, int step, size_t limit,
                                  store_wait_fn *on_wait, void *ctx, struct err *err)
{
    struct wait_taker t = {on_wait, ctx};

    return db_do_rows(s->db, SQL_WAITS_ON_STEP, take_wait, &t, err, db_i(target), db_i(step),
                      db_i((int64_t)limit));
}

enum err_code store_waits_of(struct store *s, int64_t waiter, size_t limit, store_wait_fn *on_wait,
                             void *ctx, struct err *err)
{
    struct wait_taker t = {on_wait, ctx};

    return db_do_rows(s->db, SQL_WAITS_OF, take_wait, &t, err, db_i(waiter), db_i((int64_t)limit));
}

/* ---- holding those who wait ---- */

struct hold_taker {
    const int64_t *ids;
    size_t n;
    bool *there, *held;
};

static void take_held(void *ctx, const struct db_row *row)
{
    struct hold_taker *t = ctx;
    bool *seen = db_col_int(row, 1) == 1 ? t->held : t->there;
    size_t place;

    if (store_row_place(row, t->ids, t->n, &place))
        seen[place] = true;
}

enum err_code store_waiters_hold(struct store *s, const int64_t *ids, size_t n, bool *ret_busy,
                                 struct arena *arena, struct err *err)
{
    struct db_rows rows = {store_id_values(ids, n, arena), n, 1};
    const struct db_value args[] = {db_r(&rows)};
    struct hold_taker t = {.ids = ids,
                           .n = n,
                           .there = arena_array(arena, n + 1, sizeof(bool)),
                           .held = arena_array(arena, n + 1, sizeof(bool))};
    /* One that ends meanwhile is there no more at the second look. */
    struct db_call calls[] = {
        {.sql = SQL_WAITERS_HOLD, .args = args, .n_args = 1, .on_row = take_held, .ctx = &t},
        {.sql = SQL_WAITERS_LOOK, .args = args, .n_args = 1, .on_row = take_held, .ctx = &t}};

    if (s->shared && db_run(s->db, calls, ARRAY_LEN(calls), err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        ret_busy[i] = t.there[i] && !t.held[i];
    return E_OK;
}

struct wait_counts {
    int64_t jobs, signals;
};

static void take_counts(void *ctx, const struct db_row *row)
{
    *(struct wait_counts *)ctx = (struct wait_counts){db_col_int(row, 0), db_col_int(row, 1)};
}

enum err_code store_waits_count(struct store *s, int64_t waiter, int64_t *ret_jobs,
                                int64_t *ret_signals, struct err *err)
{
    struct wait_counts n = {0};

    if (db_do_rows(s->db, SQL_WAITS_COUNT, take_counts, &n, err, db_i(waiter)) != E_OK)
        return err->code;
    *ret_jobs = n.jobs;
    *ret_signals = n.signals;
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
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_WAITERS_COUNT, take_one_int, &got, err, db_i(target)) != E_OK)
        return err->code;
    *ret_n = got.value;
    return E_OK;
}

/* ---- what is waited for ---- */

struct await_taker {
    const int64_t *ids;
    size_t n;
    enum job_state *states;
    size_t n_found;
};

static void take_state(void *ctx, const struct db_row *row)
{
    struct await_taker *t = ctx;
    int64_t state = db_col_int(row, 1);
    size_t place;

    if (!store_row_place(row, t->ids, t->n, &place))
        return;
    if (state <= JOB_NONE || state >= JOB_STATE_COUNT) {
        db_row_refuse(row, "job %lld: its state cannot be", (long long)t->ids[place]);
        return;
    }
    t->states[place] = (enum job_state)state;
    t->n_found++;
}

static enum err_code await_set(struct store *s, struct await_taker *t, struct db_value *values,
                               struct err *err)
{
    struct db_rows rows = {values, t->n, 1};

    for (size_t i = 0; i < t->n; i++) {
        values[i] = db_i(t->ids[i]);
        t->states[i] = JOB_NONE;
    }
    if (db_do_rows(s->db, SQL_AWAIT_LOOK, take_state, t, err, db_r(&rows)) != E_OK)
        return err->code;
    if (t->n_found > 0 && db_do(s->db, SQL_AWAIT_MARK, err, db_r(&rows)) != E_OK)
        return err->code;
    if (t->n_found == t->n)
        return E_OK;
    return db_do_rows(s->db, SQL_AWAIT_LOOK_ENDED, take_state, t, err, db_r(&rows));
}

enum err_code store_jobs_await(struct store *s, const int64_t *ids, size_t n,
                               enum job_state *ret_states, struct arena *arena, struct err *err)
{
    size_t most = n < SET_ROWS ? n : SET_ROWS;
    struct db_value *values = arena_array(arena, most + 1, sizeof(*values));

    for (size_t done = 0; done < n; done += most) {
        struct await_taker t = {.ids = ids + done,
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

static void take_release(void *ctx, const struct db_row *row)
{
    *(struct stored_release *)ctx = (struct stored_release){
        .target = db_col_int(row, 0),
        .state = (int)db_col_int(row, 1),
        .cursor = db_col_int(row, 2),
    };
}

enum err_code store_release_find(struct store *s, int64_t target, struct stored_release *ret,
                                 struct err *err)
{
    struct stored_release r = {0};

    if (db_do_rows(s->db, SQL_RELEASE_FIND, take_release, &r, err, db_i(target)) != E_OK)
        return err->code;
    *ret = r;
    return E_OK;
}

enum err_code store_release_any(struct store *s, bool *ret_any, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_RELEASE_ANY, take_one_int, &got, err) != E_OK)
        return err->code;
    *ret_any = got.found;
    return E_OK;
}

enum err_code store_release_next(struct store *s, int64_t above, struct stored_release *ret,
                                 struct err *err)
{
    struct stored_release r = {0};

    if (db_do_rows(s->db, SQL_RELEASE_NEXT, take_release, &r, err, db_i(above)) != E_OK)
        return err->code;
    *ret = r;
    return E_OK;
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

struct waiter_taker {
    int64_t *waiters;
    size_t n;
};

static void take_waiter(void *ctx, const struct db_row *row)
{
    struct waiter_taker *t = ctx;

    t->waiters[t->n++] = db_col_int(row, 0);
}

enum err_code store_undone_by(struct store *s, int64_t target, int64_t above, size_t limit,
                              int64_t *ret_waiters, size_t *ret_n, struct err *err)
{
    struct waiter_taker t = {.waiters = ret_waiters};

    if (db_do_rows(s->db, SQL_UNDONE_BY, take_waiter, &t, err, db_i(target), db_i(above),
                   db_i((int64_t)limit)) != E_OK)
        return err->code;
    *ret_n = t.n;
    return E_OK;
}

enum err_code store_revival_put(struct store *s, const struct stored_revival *r, struct err *err)
{
    return db_do(s->db, SQL_REVIVAL_PUT, err, db_i(r->target), db_i(r->cursor));
}

enum err_code store_revival_remove(struct store *s, int64_t target, struct err *err)
{
    return db_do(s->db, SQL_REVIVAL_REMOVE, err, db_i(target));
}

static void take_revival(void *ctx, const struct db_row *row)
{
    *(struct stored_revival *)ctx = (struct stored_revival){.target = db_col_int(row, 0),
                                                            .cursor = db_col_int(row, 1)};
}

enum err_code store_revival_next(struct store *s, struct stored_revival *ret, struct err *err)
{
    struct stored_revival next = {.target = 0};
    struct db_taker taker = {.on_row = take_revival, .ctx = &next};

    if (db_one(s->db, SQL_REVIVAL_NEXT, NULL, 0, &taker, err) != E_OK)
        return err->code;
    *ret = next;
    return E_OK;
}
