/*
 * Waits, and the releases of those that were not looked at yet.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "store/store_internal.h"
#include "store/store_links.h"

/* So many rows go into one statement. */
enum { SET_ROWS = 1000 };

enum { WAIT_COLUMNS = 8 };

enum err_code store_links_lock(struct store *s, struct err *err)
{
    return s->shared ? db_post(s->db, SQL_LINKS_LOCK, NULL, 0, err) : E_OK;
}

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

    t->on_wait(t->ctx, &w);
}

enum err_code store_waits_on(struct store *s, int64_t target, int64_t above_waiter, size_t limit,
                             store_wait_fn *on_wait, void *ctx, struct err *err)
{
    struct wait_taker t = {on_wait, ctx};

    return db_do_rows(s->db, SQL_WAITS_ON, take_wait, &t, err, db_i(target), db_i(above_waiter),
                      db_i((int64_t)limit));
}

enum err_code store_waits_on_step(struct store *s, int64_t target, int step, store_wait_fn *on_wait,
                                  void *ctx, struct err *err)
{
    struct wait_taker t = {on_wait, ctx};

    return db_do_rows(s->db, SQL_WAITS_ON_STEP, take_wait, &t, err, db_i(target), db_i(step));
}

enum err_code store_waits_of(struct store *s, int64_t waiter, size_t limit, store_wait_fn *on_wait,
                             void *ctx, struct err *err)
{
    struct wait_taker t = {on_wait, ctx};

    return db_do_rows(s->db, SQL_WAITS_OF, take_wait, &t, err, db_i(waiter), db_i((int64_t)limit));
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

static int compare_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void take_state(void *ctx, const struct db_row *row)
{
    struct await_taker *t = ctx;
    int64_t id = db_col_int(row, 0);
    const int64_t *place = bsearch(&id, t->ids, t->n, sizeof(id), compare_id);

    ASSERT(place != NULL);
    t->states[place - t->ids] = (enum job_state)db_col_int(row, 1);
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

enum err_code store_release_next(struct store *s, struct stored_release *ret, struct err *err)
{
    struct stored_release r = {0};
    struct db_taker taker = {.on_row = take_release, .ctx = &r};

    if (db_one(s->db, SQL_RELEASE_NEXT, NULL, 0, &taker, err) != E_OK)
        return err->code;
    *ret = r;
    return E_OK;
}
