/*
 * Signals and joins.
 */
/* SPDX-License-Identifier: MIT */
#include "store/links/links.h"

#include <endian.h>
#include <string.h>

#include "store/internal.h"
#include "store/jobs/rows.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "ids are kept as little endian bytes");

/* An empty text, not an absent one. */
static struct db_value text_value(struct slice s)
{
    return (struct db_value){.type = DB_TEXT, .s = s};
}

/* ---- signals ---- */

static struct stored_signal signal_from_row(const struct db_row *row)
{
    return (struct stored_signal){
        .id = db_col_int(row, 0),
        .name = db_col_text(row, 1),
        .count = db_col_int(row, 2),
        .changed_at = db_col_int(row, 3),
        .waiters = db_col_int(row, 4),
    };
}

struct signal_taker {
    struct stored_signal signal;
    struct arena *arena;
};

static void take_signal(void *ctx, const struct db_row *row)
{
    struct signal_taker *t = ctx;

    t->signal = signal_from_row(row);
    t->signal.name = copy_text(t->signal.name, t->arena);
}

enum err_code store_signal_find(struct store *s, struct slice name, struct arena *arena,
                                struct stored_signal *ret, struct err *err)
{
    struct signal_taker t = {.arena = arena};

    if (db_do_rows(s->db, SQL_SIGNAL_FIND, take_signal, &t, err, text_value(name)) != E_OK)
        return err->code;
    *ret = t.signal;
    return E_OK;
}

enum err_code store_signal_hold(struct store *s, struct slice name, struct arena *arena,
                                struct stored_signal *ret, struct err *err)
{
    struct signal_taker t = {.arena = arena};

    if (db_do_rows(s->db, SQL_SIGNAL_HOLD, take_signal, &t, err, text_value(name)) != E_OK)
        return err->code;
    *ret = t.signal;
    return E_OK;
}

enum err_code store_signal_load(struct store *s, int64_t id, struct arena *arena,
                                struct stored_signal *ret, struct err *err)
{
    struct signal_taker t = {.arena = arena};

    if (db_do_rows(s->db, SQL_SIGNAL_LOAD, take_signal, &t, err, db_i(id)) != E_OK)
        return err->code;
    *ret = t.signal;
    return E_OK;
}

struct level_taker {
    const int64_t *ids;
    size_t n;
    int64_t *levels;
    size_t n_found;
};

static void take_level(void *ctx, const struct db_row *row)
{
    struct level_taker *t = ctx;
    size_t place;

    if (!store_row_place(row, t->ids, t->n, &place))
        return;
    t->levels[place] = db_col_int(row, 1);
    t->n_found++;
}

enum err_code store_signals_hold(struct store *s, const int64_t *ids, size_t n, int64_t *ret_levels,
                                 struct arena *arena, struct err *err)
{
    struct db_rows rows = {store_id_values(ids, n, arena), n, 1};
    struct level_taker t = {.ids = ids, .n = n, .levels = ret_levels};

    for (size_t i = 0; i < n; i++)
        ret_levels[i] = -1;
    if (db_do_rows(s->db, SQL_SIGNALS_HOLD, take_level, &t, err, db_r(&rows)) != E_OK)
        return err->code;
    if (t.n_found == n)
        return E_OK;
    return db_do_rows(s->db, SQL_SIGNALS_ABSENT, take_level, &t, err, db_r(&rows));
}

enum err_code store_signal_put(struct store *s, const struct stored_signal *signal, struct err *err)
{
    return db_do(s->db, SQL_SIGNAL_PUT, err, db_i(signal->id), text_value(signal->name),
                 db_i(signal->count), db_i(signal->changed_at));
}

enum err_code store_signal_remove(struct store *s, int64_t id, struct err *err)
{
    return db_do(s->db, SQL_SIGNAL_REMOVE, err, db_i(id));
}

struct signals_taker {
    store_signal_fn *on_signal;
    void *ctx;
};

static void take_listed_signal(void *ctx, const struct db_row *row)
{
    struct signals_taker *t = ctx;
    struct stored_signal signal = signal_from_row(row);

    t->on_signal(t->ctx, &signal);
}

enum err_code store_signals_list(struct store *s, struct slice above, size_t limit,
                                 store_signal_fn *on_signal, void *ctx, struct err *err)
{
    struct signals_taker t = {on_signal, ctx};

    return db_do_rows(s->db, SQL_SIGNALS_LIST, take_listed_signal, &t, err, text_value(above),
                      db_i((int64_t)limit));
}

/* ---- joins ---- */

static struct stored_join join_from_row(const struct db_row *row)
{
    return (struct stored_join){
        .id = db_col_int(row, 0),
        .name = db_col_text(row, 1),
        .definition = db_col_text(row, 2),
        .fired = db_col_int(row, 3),
        .fired_at = db_col_int(row, 4),
    };
}

struct join_taker {
    struct stored_join join;
    struct arena *arena;
};

static void take_join(void *ctx, const struct db_row *row)
{
    struct join_taker *t = ctx;

    t->join = join_from_row(row);
    t->join.name = copy_text(t->join.name, t->arena);
    t->join.definition = copy_text(t->join.definition, t->arena);
}

enum err_code store_join_find(struct store *s, struct slice name, struct arena *arena,
                              struct stored_join *ret, struct err *err)
{
    struct join_taker t = {.arena = arena};

    if (db_do_rows(s->db, SQL_JOIN_FIND, take_join, &t, err, text_value(name)) != E_OK)
        return err->code;
    *ret = t.join;
    return E_OK;
}

enum err_code store_join_put(struct store *s, const struct stored_join *join, struct err *err)
{
    return db_do(s->db, SQL_JOIN_PUT, err, db_i(join->id), text_value(join->name),
                 text_value(join->definition), db_i(join->fired), db_i(join->fired_at));
}

enum err_code store_join_fired(struct store *s, int64_t id, int64_t times, int64_t fired_at,
                               struct err *err)
{
    return db_do(s->db, SQL_JOIN_FIRED, err, db_i(id), db_i(times), db_i(fired_at));
}

enum err_code store_join_hold_key(struct store *s, int64_t id, struct slice key, struct err *err)
{
    return s->shared ? db_do(s->db, SQL_JOIN_HOLD_KEY, err, db_i(id), text_value(key)) : E_OK;
}

enum err_code store_join_hold(struct store *s, int64_t id, struct err *err)
{
    return s->shared ? db_do(s->db, SQL_JOIN_HOLD, err, db_i(id)) : E_OK;
}

enum err_code store_join_remove(struct store *s, int64_t id, struct err *err)
{
    if (db_do(s->db, SQL_ARRIVALS_CLEAR, err, db_i(id)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_JOIN_REMOVE, err, db_i(id));
}

struct joins_taker {
    store_join_fn *on_join;
    void *ctx;
};

static void take_listed_join(void *ctx, const struct db_row *row)
{
    struct joins_taker *t = ctx;
    struct stored_join join = join_from_row(row);

    t->on_join(t->ctx, &join);
}

enum err_code store_joins_list(struct store *s, struct slice above, size_t limit,
                               store_join_fn *on_join, void *ctx, struct err *err)
{
    struct joins_taker t = {on_join, ctx};

    return db_do_rows(s->db, SQL_JOINS_LIST, take_listed_join, &t, err, text_value(above),
                      db_i((int64_t)limit));
}

/* ---- arrivals ---- */

/* Blobs of SQLite are not aligned: the ids are copied. */
static struct stored_arrivals arrivals_from_row(const struct db_row *row, struct arena *arena)
{
    struct slice bytes = db_col_blob(row, 4);
    size_t n_jobs = bytes.size / sizeof(int64_t);
    int64_t *jobs = arena_array(arena, n_jobs + 1, sizeof(*jobs));

    if (n_jobs > 0)
        memcpy(jobs, bytes.data, n_jobs * sizeof(*jobs));
    return (struct stored_arrivals){
        .join = db_col_int(row, 0),
        .key = db_col_text(row, 1),
        .count = db_col_int(row, 2),
        .first_at = db_col_int(row, 3),
        .jobs = jobs,
        .n_jobs = n_jobs,
    };
}

struct arrivals_taker {
    struct stored_arrivals arrivals;
    struct arena *arena;
};

static void take_arrivals(void *ctx, const struct db_row *row)
{
    struct arrivals_taker *t = ctx;

    t->arrivals = arrivals_from_row(row, t->arena);
    t->arrivals.key = copy_text(t->arrivals.key, t->arena);
}

enum err_code store_arrivals_find(struct store *s, int64_t join, struct slice key,
                                  struct arena *arena, struct stored_arrivals *ret, struct err *err)
{
    struct arrivals_taker t = {.arrivals = {.join = join, .key = key}, .arena = arena};

    if (db_do_rows(s->db, SQL_ARRIVALS_FIND, take_arrivals, &t, err, db_i(join), text_value(key)) !=
        E_OK)
        return err->code;
    *ret = t.arrivals;
    return E_OK;
}

enum err_code store_arrivals_put(struct store *s, const struct stored_arrivals *arrivals,
                                 struct err *err)
{
    const void *jobs = arrivals->n_jobs == 0 ? (const void *)"" : arrivals->jobs;

    return db_do(s->db, SQL_ARRIVALS_PUT, err, db_i(arrivals->join), text_value(arrivals->key),
                 db_i(arrivals->count), db_i(arrivals->first_at),
                 db_b(slice_make(jobs, arrivals->n_jobs * sizeof(int64_t))));
}

enum err_code store_arrivals_remove(struct store *s, int64_t join, struct slice key,
                                    struct err *err)
{
    return db_do(s->db, SQL_ARRIVALS_REMOVE, err, db_i(join), text_value(key));
}

struct all_arrivals_taker {
    store_arrivals_fn *on_arrivals;
    void *ctx;
    struct arena arena; /* of one row */
};

static void take_listed_arrivals(void *ctx, const struct db_row *row)
{
    struct all_arrivals_taker *t = ctx;
    struct stored_arrivals arrivals = arrivals_from_row(row, &t->arena);

    t->on_arrivals(t->ctx, &arrivals);
    arena_clear(&t->arena);
}

enum err_code store_arrivals_list(struct store *s, int64_t join, struct slice above, size_t limit,
                                  store_arrivals_fn *on_arrivals, void *ctx, struct err *err)
{
    struct all_arrivals_taker t = {.on_arrivals = on_arrivals, .ctx = ctx};
    enum err_code code = db_do_rows(s->db, SQL_ARRIVALS_LIST, take_listed_arrivals, &t, err,
                                    db_i(join), text_value(above), db_i(above.data == NULL),
                                    db_i((int64_t)limit));

    arena_deinit(&t.arena);
    return code;
}

enum err_code store_arrivals_count(struct store *s, int64_t join, int64_t *ret_keys,
                                   struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_ARRIVALS_COUNT, take_one_int, &got, err, db_i(join)) != E_OK)
        return err->code;
    *ret_keys = got.value;
    return E_OK;
}
