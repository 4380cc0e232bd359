/* SPDX-License-Identifier: MIT */
#include "store/jobs/emits.h"

#include <endian.h>
#include <string.h>

#include "store/internal.h"
#include "store/jobs/history.h"
#include "store/jobs/rows.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "ids are kept as little endian bytes");

/* ---- attempts ---- */

struct emitter_taker {
    store_emitter_fn *on_emitter;
    void *ctx;
};

static void take_emitter(void *ctx, const struct db_row *row)
{
    struct emitter_taker *t = ctx;
    struct stored_emitter m = {
        .owner = db_col_int(row, 0),
        .token = db_col_int(row, 1),
        .seq = db_col_int(row, 2),
        .visible_upto = db_col_int(row, 3),
        .staged = db_col_int(row, 4),
        .fate = (enum emit_fate)db_col_int(row, 5),
    };

    if (m.fate > EMIT_DROP || m.owner <= 0)
        db_row_refuse(row, "job %lld: its emits cannot be", (long long)m.owner);
    else
        t->on_emitter(t->ctx, &m);
}

enum err_code store_emitters_load(struct store *s, store_emitter_fn *on_emitter, void *ctx,
                                  struct err *err)
{
    struct emitter_taker t = {on_emitter, ctx};
    struct db_taker taker = {.on_row = take_emitter, .ctx = &t};

    return db_one(s->db, SQL_EMITTER_LOAD, NULL, 0, &taker, err);
}

enum err_code store_emitter_find(struct store *s, int64_t owner, int64_t token,
                                 store_emitter_fn *on_emitter, void *ctx, struct err *err)
{
    struct emitter_taker t = {on_emitter, ctx};

    return db_do_rows(s->db, SQL_EMITTER_FIND, take_emitter, &t, err, db_i(owner), db_i(token));
}

enum err_code store_emitters_unsettled(struct store *s, size_t limit, store_emitter_fn *on_emitter,
                                       void *ctx, struct err *err)
{
    struct emitter_taker t = {on_emitter, ctx};

    return db_do_rows(s->db, SQL_EMITTER_UNSETTLED, take_emitter, &t, err, db_i((int64_t)limit));
}

enum err_code store_emitter_put(struct store *s, const struct stored_emitter *m, struct err *err)
{
    return db_do(s->db, SQL_EMITTER_PUT, err, db_i(m->owner), db_i(m->token), db_i(m->seq),
                 db_i(m->visible_upto), db_i(m->staged), db_i(m->fate));
}

enum err_code store_emitter_remove(struct store *s, int64_t owner, int64_t token, struct err *err)
{
    return db_do(s->db, SQL_EMITTER_REMOVE, err, db_i(owner), db_i(token));
}

/* ---- requests ---- */

static struct slice bytes_of(const void *numbers, size_t n)
{
    return slice_make(n == 0 ? "" : numbers, n * sizeof(int64_t));
}

enum err_code store_emit_add(struct store *s, const struct stored_emit *e, struct err *err)
{
    const struct db_value none = {.type = DB_NULL};

    return db_do(s->db, SQL_EMIT_ADD, err, db_i(e->id), db_i(e->owner), db_i(e->token),
                 db_i(e->seq), db_i(e->visible), db_i(e->staged),
                 db_b(bytes_of(e->jobs, e->n_jobs)),
                 e->contents == NULL ? none : db_b(bytes_of(e->contents, e->n_jobs)));
}

struct emit_taker {
    struct stored_emit emit;
    struct arena *arena;
};

/* Blobs of SQLite are not aligned. */
static void *copy_numbers(struct slice bytes, struct arena *arena)
{
    int64_t *numbers = arena_array(arena, bytes.size / sizeof(int64_t) + 1, sizeof(int64_t));

    memcpy(numbers, bytes.data, bytes.size);
    return numbers;
}

static void take_emit(void *ctx, const struct db_row *row)
{
    struct emit_taker *t = ctx;
    struct slice jobs = db_col_blob(row, 4);
    struct slice contents = db_col_blob(row, 5);

    if (jobs.size % sizeof(int64_t) != 0 || (contents.data != NULL && contents.size < jobs.size)) {
        db_row_refuse(row, "emit %lld: its jobs cannot be read", (long long)db_col_int(row, 0));
        return;
    }
    t->emit.id = db_col_int(row, 0);
    t->emit.seq = db_col_int(row, 1);
    t->emit.visible = db_col_int(row, 2) != 0;
    t->emit.staged = db_col_int(row, 3) != 0;
    t->emit.n_jobs = jobs.size / sizeof(int64_t);
    t->emit.jobs = jobs.size == 0 ? NULL : copy_numbers(jobs, t->arena);
    t->emit.contents = contents.data == NULL ? NULL : copy_numbers(contents, t->arena);
}

static struct emit_taker taker_for(const struct stored_emitter *m, struct arena *arena)
{
    return (struct emit_taker){.emit = {.owner = m->owner, .token = m->token}, .arena = arena};
}

enum err_code store_emit_find(struct store *s, const struct stored_emitter *m, int64_t seq,
                              struct arena *arena, struct stored_emit *ret_emit, struct err *err)
{
    struct emit_taker t = taker_for(m, arena);

    if (db_do_rows(s->db, SQL_EMIT_FIND, take_emit, &t, err, db_i(m->owner), db_i(m->token),
                   db_i(seq)) != E_OK)
        return err->code;
    *ret_emit = t.emit;
    return E_OK;
}

enum err_code store_emit_first(struct store *s, const struct stored_emitter *m, struct arena *arena,
                               struct stored_emit *ret_emit, struct err *err)
{
    struct emit_taker t = taker_for(m, arena);

    if (db_do_rows(s->db, SQL_EMIT_FIRST, take_emit, &t, err, db_i(m->owner), db_i(m->token)) !=
        E_OK)
        return err->code;
    *ret_emit = t.emit;
    return E_OK;
}

enum err_code store_emit_first_visible(struct store *s, const struct stored_emitter *m,
                                       struct arena *arena, struct stored_emit *ret_emit,
                                       struct err *err)
{
    struct emit_taker t = taker_for(m, arena);

    if (db_do_rows(s->db, SQL_EMIT_FIRST_VISIBLE, take_emit, &t, err, db_i(m->owner),
                   db_i(m->token), db_i(m->visible_upto)) != E_OK)
        return err->code;
    *ret_emit = t.emit;
    return E_OK;
}

enum err_code store_emit_let_go(struct store *s, int64_t id, struct err *err)
{
    return db_do(s->db, SQL_EMIT_LET_GO, err, db_i(id));
}

enum err_code store_emit_remove(struct store *s, int64_t id, struct err *err)
{
    return db_do(s->db, SQL_EMIT_REMOVE, err, db_i(id));
}

enum err_code store_emit_owner(struct store *s, int64_t job, int64_t *ret_owner, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_EMIT_OWNER, take_one_int, &got, err, db_i(job)) != E_OK)
        return err->code;
    *ret_owner = got.found ? got.value : 0;
    return E_OK;
}

/* ---- staged jobs ---- */

static struct db_rows rows_of_ids(const int64_t *ids, size_t n, struct arena *arena)
{
    struct db_value *values = arena_array(arena, n + 1, sizeof(*values));

    for (size_t i = 0; i < n; i++)
        values[i] = db_i(ids[i]);
    return (struct db_rows){values, n, 1};
}

struct staged_taker {
    struct job *jobs;
    size_t n, n_max;
    struct arena *arena;
};

static void take_staged(void *ctx, const struct db_row *row)
{
    struct staged_taker *t = ctx;

    if (t->n == t->n_max) {
        db_row_refuse(row, "there are staged jobs twice");
        return;
    }
    struct job *j = &t->jobs[t->n++];

    *j = (struct job){
        .id = {db_col_int(row, 0)},
        .queue = db_col_int(row, 1),
        .state = JOB_STAGED,
        .priority = (int)db_col_int(row, 2),
        .due_at = db_col_int(row, 3),
        .awaited = db_col_int(row, 7) != 0,
        .key = copy_text(db_col_text(row, 4), t->arena),
        .bill = take_json(row, 6, "bill", t->arena),
    };
    if (!db_col_null(row, 5) && !history_parse(db_col_text(row, 5), t->arena, j))
        db_row_refuse(row, "job %lld is staged: its row cannot be", (long long)j->id.v);
}

enum err_code store_staged_load(struct store *s, const struct stored_emit *e, struct arena *arena,
                                struct job **ret_jobs, size_t *ret_n, struct err *err)
{
    struct db_rows rows = rows_of_ids(e->jobs, e->n_jobs, arena);
    struct staged_taker t = {.jobs = arena_array(arena, e->n_jobs + 1, sizeof(struct job)),
                             .n_max = e->n_jobs,
                             .arena = arena};

    if (db_do_rows(s->db, SQL_STAGED_LOAD, take_staged, &t, err, db_r(&rows)) != E_OK)
        return err->code;
    *ret_jobs = t.jobs;
    *ret_n = t.n;
    return E_OK;
}

enum err_code store_staged_release(struct store *s, const int64_t *ids, size_t n, int64_t now_at,
                                   struct arena *arena, struct err *err)
{
    struct db_rows rows = rows_of_ids(ids, n, arena);

    return n == 0 ? E_OK : db_do(s->db, SQL_STAGED_RELEASE, err, db_r(&rows), db_i(now_at));
}

enum err_code store_staged_drop(struct store *s, const int64_t *ids, size_t n, struct arena *arena,
                                struct err *err)
{
    struct db_rows rows = rows_of_ids(ids, n, arena);

    if (n == 0)
        return E_OK;
    if (db_do(s->db, SQL_STAGED_DROP_PAYLOAD, err, db_r(&rows)) != E_OK ||
        db_do(s->db, SQL_STAGED_DROP_PROGRESS, err, db_r(&rows)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_STAGED_DROP, err, db_r(&rows));
}

/* ---- cursors ---- */

enum err_code store_cursor_put(struct store *s, int64_t job, struct slice cursor, struct err *err)
{
    return db_do(s->db, SQL_CURSOR_PUT, err, db_i(job), db_t(cursor));
}

enum err_code store_cursor_remove(struct store *s, int64_t job, struct err *err)
{
    return db_do(s->db, SQL_CURSOR_REMOVE, err, db_i(job));
}

struct cursor_taker {
    struct slice cursor;
    struct arena *arena;
};

static void take_cursor(void *ctx, const struct db_row *row)
{
    struct cursor_taker *t = ctx;

    t->cursor = copy_text(db_col_text(row, 0), t->arena);
}

enum err_code store_cursor_find(struct store *s, int64_t job, struct arena *arena,
                                struct slice *ret_cursor, struct err *err)
{
    struct cursor_taker t = {.arena = arena};

    if (db_do_rows(s->db, SQL_CURSOR_FIND, take_cursor, &t, err, db_i(job)) != E_OK)
        return err->code;
    *ret_cursor = t.cursor;
    return E_OK;
}
