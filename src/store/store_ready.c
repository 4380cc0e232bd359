/* SPDX-License-Identifier: MIT */
#include "store/store_ready.h"

#include "base/clock.h"
#include "store/store_internal.h"
#include "store/store_rows.h"

struct ref_taker {
    struct ready_ref *refs;
    size_t n;
};

static void take_ref(void *ctx, const struct db_row *row)
{
    struct ref_taker *t = ctx;

    t->refs[t->n++] = (struct ready_ref){(int)db_col_int(row, 0), db_col_int(row, 1)};
}

enum err_code store_ready_scan(struct store *s, int64_t queue, struct ready_ref from,
                               struct ready_ref *refs, size_t limit, size_t *ret_n, struct err *err)
{
    struct ref_taker t = {.refs = refs};

    if (db_do_rows(s->db, SQL_READY_SCAN, take_ref, &t, err, db_i(queue), db_i(from.priority),
                   db_i(from.id), db_i((int64_t)limit)) != E_OK)
        return err->code;
    *ret_n = t.n;
    return E_OK;
}

/* ---- held ones, and what they carry ---- */

struct held_taker {
    struct store *store;
    int64_t queue;
    struct ref_taker refs;
    struct db_value *fresh; /* ids of those that are as they were made */
    size_t n_fresh;
};

static void take_locked(void *ctx, const struct db_row *row)
{
    struct held_taker *t = ctx;
    const struct ready_ref *ref = &t->refs.refs[t->refs.n];

    take_ref(&t->refs, row);
    if (db_col_int(row, 2) == 0)
        return;
    struct held_job *held = arena_zalloc(&t->store->held_arena, sizeof(*held));

    held->queue = t->queue;
    held->priority = ref->priority;
    map_put(&t->store->held, ref->id, held);
    t->fresh[t->n_fresh++] = db_i(ref->id);
}

static void take_light(void *ctx, const struct db_row *row)
{
    struct store *s = ctx;
    struct held_job *held = map_find(&s->held, db_col_int(row, 0));

    held->known = true;
    held->key = copy_text(db_col_text(row, 1), &s->held_arena);
    held->params = copy_text(db_col_text(row, 2), &s->held_arena);
    held->labels = copy_text(db_col_text(row, 3), &s->held_arena);
    held->options = copy_text(db_col_text(row, 4), &s->held_arena);
}

enum err_code store_ready_lock(struct store *s, int64_t queue, struct ready_ref *refs, size_t limit,
                               size_t *ret_n, struct err *err)
{
    struct held_taker t = {.store = s, .queue = queue};

    t.refs.refs = refs;
    t.fresh = arena_array(&s->held_arena, limit, sizeof(*t.fresh));
    if (db_do_rows(s->db, SQL_READY_LOCK, take_locked, &t, err, db_i(queue),
                   db_i((int64_t)limit)) != E_OK)
        return err->code;
    struct db_rows fresh = {t.fresh, t.n_fresh, 1};

    if (t.n_fresh > 0 &&
        db_do_rows(s->db, SQL_PAYLOAD_LIGHT, take_light, s, err, db_r(&fresh)) != E_OK)
        return err->code;
    *ret_n = t.refs.n;
    return E_OK;
}

enum err_code store_ready_others(struct store *s, int64_t queue, const struct ready_ref *refs,
                                 size_t n, struct arena *arena, bool *ret_others, struct err *err)
{
    struct db_value *ids = arena_array(arena, n + 1, sizeof(*ids));
    struct db_rows rows = {ids, n, 1};
    struct taken_int got = {0};

    for (size_t i = 0; i < n; i++)
        ids[i] = db_i(refs[i].id);
    if (db_do_rows(s->db, SQL_READY_OTHERS, take_one_int, &got, err, db_r(&rows), db_i(queue)) !=
        E_OK)
        return err->code;
    *ret_others = got.found;
    return E_OK;
}

struct id_taker {
    int64_t *ids;
    size_t n;
};

static void take_id(void *ctx, const struct db_row *row)
{
    struct id_taker *t = ctx;

    t->ids[t->n++] = db_col_int(row, 0);
}

/* Rows come in any order. */
struct command_taker {
    const int64_t *ids;
    size_t n;
    bool *has;
};

static void take_command(void *ctx, const struct db_row *row)
{
    struct command_taker *t = ctx;
    int64_t id = db_col_int(row, 0);

    for (size_t i = 0; i < t->n; i++)
        if (t->ids[i] == id)
            t->has[i] = true;
}

enum err_code store_jobs_with_command(struct store *s, const int64_t *ids, size_t n, bool *ret_has,
                                      struct arena *arena, struct err *err)
{
    struct command_taker t = {.ids = ids, .n = n, .has = ret_has};
    struct db_value *values = arena_array(arena, n, sizeof(*values));
    struct db_rows rows = {values, n, 1};

    for (size_t i = 0; i < n; i++)
        values[i] = db_i(ids[i]);
    return db_do_rows(s->db, SQL_JOBS_WITH_COMMAND, take_command, &t, err, db_r(&rows));
}

enum err_code store_due_scan(struct store *s, int64_t now_at, int64_t *ids, size_t limit,
                             size_t *ret_n, struct err *err)
{
    struct id_taker t = {.ids = ids};

    if (db_do_rows(s->db, SQL_DUE_SCAN, take_id, &t, err, db_i(now_at), db_i((int64_t)limit)) !=
        E_OK)
        return err->code;
    *ret_n = t.n;
    return E_OK;
}

enum err_code store_due_next(struct store *s, int64_t *ret_at, struct err *err)
{
    struct taken_int got = {0};
    struct db_taker taker = {.on_row = take_one_int, .ctx = &got};

    if (db_one(s->db, SQL_DUE_NEXT, NULL, 0, &taker, err) != E_OK)
        return err->code;
    *ret_at = got.found ? got.value : TIME_NEVER;
    return E_OK;
}
