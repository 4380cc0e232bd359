/* SPDX-License-Identifier: MIT */
#include "store/jobs/ready.h"

#include "base/clock.h"
#include "store/internal.h"
#include "store/jobs/rows.h"

struct ready_refs {
    struct store *store;
    int64_t queue;
    struct ready_ref *refs;
    size_t n;
};

/* Those that are as they were made are noted, once nobody else can change them. */
static void on_ready_row(void *ctx, const struct db_row *row)
{
    struct ready_refs *t = ctx;
    struct ready_ref ref = {(int)db_col_int(row, 0), db_col_int(row, 1)};

    t->refs[t->n++] = ref;
    if (!t->store->sole || db_col_int(row, 2) == 0 || ref.id <= 0)
        return;
    if (ready_cache_find(&t->store->ready_cache, ref.id) == NULL)
        ready_cache_put_place(&t->store->ready_cache, ref.id, t->queue, ref.priority);
}

enum err_code store_ready_scan(struct store *s, int64_t queue, struct ready_ref from,
                               struct ready_ref *refs, size_t limit, size_t *ret_n, struct err *err)
{
    struct ready_refs t = {.store = s, .queue = queue, .refs = refs};

    if (db_rows(s->db, SQL_READY_SCAN, on_ready_row, &t, err, db_i(queue), db_i(from.priority),
                db_i(from.id), db_i((int64_t)limit)) != E_OK)
        return err->code;
    *ret_n = t.n;
    return E_OK;
}

/* ---- held ones, and what they carry ---- */

static void on_locked_row(void *ctx, const struct db_row *row)
{
    struct ready_refs *t = ctx;
    struct ready_ref ref = {(int)db_col_int(row, 0), db_col_int(row, 1)};

    t->refs[t->n++] = ref;
    if (db_col_int(row, 2) != 0 && ref.id > 0)
        ready_cache_put_place(&t->store->ready_cache, ref.id, t->queue, ref.priority);
}

static void on_light_row(void *ctx, const struct db_row *row)
{
    struct store *s = ctx;
    int64_t id = db_col_int(row, 0);
    const struct cached_job *cached = ready_cache_find(&s->ready_cache, id);

    if (cached == NULL)
        return;
    struct job j = {.id = {id},
                    .queue = cached->queue,
                    .priority = cached->priority,
                    .key = db_col_text(row, 1),
                    .params = db_col_text(row, 2),
                    .labels = db_col_text(row, 3),
                    .options = db_col_text(row, 4),
                    .routing = db_col_text(row, 5)};

    ready_cache_put(&s->ready_cache, &j);
}

enum err_code store_ready_fetch(struct store *s, const struct ready_ref *refs, size_t n,
                                struct arena *arena, struct err *err)
{
    struct db_value *ids = arena_array(arena, n + 1, sizeof(*ids));
    struct db_rows unknown = {ids, 0, 1};

    for (size_t i = 0; i < n; i++) {
        const struct cached_job *cached = ready_cache_find(&s->ready_cache, refs[i].id);

        if (cached != NULL && !cached->known)
            ids[unknown.n_rows++] = db_i(refs[i].id);
    }
    return unknown.n_rows == 0
               ? E_OK
               : db_rows(s->db, SQL_PAYLOAD_LIGHT, on_light_row, s, err, db_r(&unknown));
}

enum err_code store_ready_lock(struct store *s, int64_t queue, struct ready_ref *refs, size_t limit,
                               size_t *ret_n, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct ready_refs t = {.store = s, .queue = queue, .refs = refs};

    if (db_rows(s->db, SQL_READY_LOCK, on_locked_row, &t, err, db_i(queue), db_i((int64_t)limit)) !=
            E_OK ||
        store_ready_fetch(s, refs, t.n, &arena, err) != E_OK)
        return err->code;
    *ret_n = t.n;
    return E_OK;
}

enum err_code store_ready_others(struct store *s, int64_t queue, const struct ready_ref *refs,
                                 size_t n, struct arena *arena, bool *ret_others, struct err *err)
{
    struct db_value *ids = arena_array(arena, n + 1, sizeof(*ids));
    struct db_rows rows = {ids, n, 1};

    for (size_t i = 0; i < n; i++)
        ids[i] = db_i(refs[i].id);
    return db_exists(s->db, SQL_READY_OTHERS, ret_others, err, db_r(&rows), db_i(queue));
}

/* Rows come in any order. */
struct command_marks {
    const int64_t *ids;
    size_t n;
    bool *has;
};

static void on_command_row(void *ctx, const struct db_row *row)
{
    struct command_marks *t = ctx;
    int64_t id = db_col_int(row, 0);

    for (size_t i = 0; i < t->n; i++)
        if (t->ids[i] == id)
            t->has[i] = true;
}

enum err_code store_jobs_with_command(struct store *s, const int64_t *ids, size_t n, bool *ret_has,
                                      struct arena *arena, struct err *err)
{
    struct command_marks marks = {.ids = ids, .n = n, .has = ret_has};
    struct db_rows rows = store_id_rows(ids, n, arena);

    return db_rows(s->db, SQL_JOBS_WITH_COMMAND, on_command_row, &marks, err, db_r(&rows));
}

enum err_code store_due_scan(struct store *s, int64_t now_at, int64_t *ids, size_t limit,
                             size_t *ret_n, struct err *err)
{
    return db_numbers(s->db, SQL_DUE_SCAN, ids, ret_n, err, db_i(now_at), db_i((int64_t)limit));
}

enum err_code store_due_next(struct store *s, int64_t *ret_at, struct err *err)
{
    int64_t at = TIME_NEVER;

    if (db_number_if(s->db, SQL_DUE_NEXT, &at, err) != E_OK)
        return err->code;
    *ret_at = at;
    return E_OK;
}

enum err_code store_due_shift(struct store *s, int64_t step_us, struct err *err)
{
    return db_do(s->db, SQL_DUE_SHIFT, err, db_i(step_us));
}

enum err_code store_due_bound(struct store *s, int64_t now_at, struct err *err)
{
    return db_do(s->db, SQL_DUE_BOUND, err, db_i(now_at));
}
