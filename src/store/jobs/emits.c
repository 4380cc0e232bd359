/* SPDX-License-Identifier: MIT */
#include "store/jobs/emits.h"

#include <endian.h>
#include <string.h>

#include "store/db/columns.h"
#include "store/internal.h"
#include "store/jobs/history.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "ids are kept as little endian bytes");

/* ---- attempts ---- */

static const struct db_column emitter_columns[] = {
    DB_NUMBER(stored_emitter, owner, .min = 1, .max = INT64_MAX),
    DB_NUMBER(stored_emitter, token),
    DB_NUMBER(stored_emitter, seq),
    DB_NUMBER(stored_emitter, visible_upto),
    DB_NUMBER(stored_emitter, staged),
    DB_NUMBER(stored_emitter, fate, .min = EMIT_OPEN, .max = EMIT_DROP),
};
static const struct db_table emitter_table = DB_TABLE("emitting job", stored_emitter,
                                                      emitter_columns);

DB_EACH_FN(each_emitter, stored_emitter, emitter_table)

enum err_code store_emitters_load(struct store *s, store_emitter_fn *on_emitter, void *ctx,
                                  struct err *err)
{
    return each_emitter(s->db, SQL_EMITTER_LOAD, DB_ARGS(), on_emitter, ctx, err);
}

enum err_code store_emitter_find(struct store *s, int64_t owner, int64_t token,
                                 store_emitter_fn *on_emitter, void *ctx, struct err *err)
{
    return each_emitter(s->db, SQL_EMITTER_FIND, DB_ARGS(db_i(owner), db_i(token)), on_emitter, ctx,
                        err);
}

enum err_code store_emitters_unsettled(struct store *s, size_t limit, store_emitter_fn *on_emitter,
                                       void *ctx, struct err *err)
{
    return each_emitter(s->db, SQL_EMITTER_UNSETTLED, DB_ARGS(db_i((int64_t)limit)), on_emitter,
                        ctx, err);
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
                 e->contents == NULL ? none : db_b(bytes_of(e->contents, e->n_jobs)),
                 db_t(e->dropped));
}

/* A row as it is read: `contents` counts for itself. */
struct emit_row {
    struct stored_emit emit;
    size_t n_contents;
};

static const struct db_column emit_columns[] = {
    DB_NUMBER(emit_row, emit.id),
    DB_NUMBER(emit_row, emit.seq),
    DB_NUMBER(emit_row, emit.visible),
    DB_NUMBER(emit_row, emit.staged),
    DB_ARRAY(emit_row, emit.jobs, emit.n_jobs, .exact = true),
    DB_ARRAY(emit_row, emit.contents, n_contents),
    DB_VALUE(DB_COLUMN_JSON, emit_row, emit.dropped),
};

static bool emit_is_sound(void *item, const struct db_row *row, struct arena *arena)
{
    const struct emit_row *e = item;

    (void)row;
    (void)arena;
    return e->emit.contents == NULL || e->n_contents >= e->emit.n_jobs;
}

static const struct db_table emit_table = DB_TABLE("emit", emit_row, emit_columns,
                                                   .check = emit_is_sound);

static enum err_code find_emit(struct store *s, enum sql sql, struct db_args args,
                               struct arena *arena, struct stored_emit *ret_emit, struct err *err)
{
    struct emit_row row;

    if (db_find_row(s->db, sql, args, &emit_table, &(struct db_target){arena, &row}, err) != E_OK)
        return err->code;
    *ret_emit = row.emit;
    ret_emit->owner = args.values[0].i;
    ret_emit->token = args.values[1].i;
    return E_OK;
}

enum err_code store_emit_find(struct store *s, const struct stored_emitter *m, int64_t seq,
                              struct arena *arena, struct stored_emit *ret_emit, struct err *err)
{
    return find_emit(s, SQL_EMIT_FIND, DB_ARGS(db_i(m->owner), db_i(m->token), db_i(seq)), arena,
                     ret_emit, err);
}

enum err_code store_emit_first(struct store *s, const struct stored_emitter *m, struct arena *arena,
                               struct stored_emit *ret_emit, struct err *err)
{
    return find_emit(s, SQL_EMIT_FIRST, DB_ARGS(db_i(m->owner), db_i(m->token)), arena, ret_emit,
                     err);
}

enum err_code store_emit_first_visible(struct store *s, const struct stored_emitter *m,
                                       struct arena *arena, struct stored_emit *ret_emit,
                                       struct err *err)
{
    return find_emit(s, SQL_EMIT_FIRST_VISIBLE,
                     DB_ARGS(db_i(m->owner), db_i(m->token), db_i(m->visible_upto)), arena,
                     ret_emit, err);
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
    return db_number(s->db, SQL_EMIT_OWNER, ret_owner, err, db_i(job));
}

/* ---- staged jobs ---- */

static bool staged_history(void *item, const struct db_row *row, struct arena *arena)
{
    struct job *j = item;

    j->state = JOB_STAGED;
    return db_col_null(row, 5) || history_parse(db_col_text(row, 5), arena, j);
}

static const struct db_column staged_columns[] = {
    DB_NUMBER(job, id.v),
    DB_NUMBER(job, queue),
    DB_NUMBER(job, priority),
    DB_NUMBER(job, due_at),
    DB_VALUE(DB_COLUMN_TEXT, job, key),
    DB_SKIPPED, /* history */
    DB_VALUE(DB_COLUMN_OBJECT, job, routing),
    DB_NUMBER(job, awaited),
    DB_NUMBER(job, group, .max = INT64_MAX),
    DB_NUMBER(job, lane, .max = INT64_MAX),
};
static const struct db_table staged_table = DB_TABLE("staged job", job, staged_columns,
                                                     .check = staged_history);

enum err_code store_staged_load(struct store *s, const struct stored_emit *e, struct arena *arena,
                                struct job **ret_jobs, size_t *ret_n, struct err *err)
{
    struct db_rows ids = store_id_rows(e->jobs, e->n_jobs, arena);
    CLEANUP(db_list) struct db_list list = {.table = &staged_table, .texts = arena};

    if (db_each(s->db, SQL_STAGED_LOAD, &list, err, db_r(&ids)) != E_OK)
        return err->code;
    *ret_jobs = arena_array(arena, list.n + 1, sizeof(struct job));
    if (list.n > 0)
        memcpy(*ret_jobs, list.items, list.n * sizeof(struct job));
    *ret_n = list.n;
    return E_OK;
}

struct params_reader {
    struct job **jobs;
    struct arena *arena;
};

static void on_params(void *ctx, const struct db_row *row)
{
    struct params_reader *r = ctx;
    struct job *j = r->jobs[db_col_int(row, 0)];

    if (!db_col_null(row, 1))
        j->params = arena_copy(r->arena, db_col_text(row, 1));
    if (!db_col_null(row, 2))
        j->assigned = arena_copy(r->arena, db_col_text(row, 2));
}

enum err_code store_staged_params(struct store *s, struct job **jobs, size_t n, struct arena *arena,
                                  struct err *err)
{
    struct db_value *values = arena_array(arena, 2 * n, sizeof(*values));
    struct db_rows rows = {values, n, 2};
    struct params_reader reader = {jobs, arena};

    for (size_t i = 0; i < n; i++) {
        values[2 * i] = db_i((int64_t)i);
        values[2 * i + 1] = db_i(jobs[i]->id.v);
    }
    return db_rows(s->db, SQL_STAGED_PARAMS, on_params, &reader, err, db_r(&rows));
}

enum err_code store_staged_release(struct store *s, const int64_t *ids, size_t n, int64_t now_at,
                                   struct arena *arena, struct err *err)
{
    struct db_rows rows = store_id_rows(ids, n, arena);

    return n == 0 ? E_OK : db_do(s->db, SQL_STAGED_RELEASE, err, db_r(&rows), db_i(now_at));
}

enum err_code store_staged_drop(struct store *s, const int64_t *ids, size_t n, struct arena *arena,
                                struct err *err)
{
    struct db_rows rows = store_id_rows(ids, n, arena);

    if (n == 0)
        return E_OK;
    if (db_do(s->db, SQL_STAGED_DROP_PAYLOAD, err, db_r(&rows)) != E_OK ||
        db_do(s->db, SQL_STAGED_DROP_PROGRESS, err, db_r(&rows)) != E_OK ||
        db_do(s->db, SQL_STAGED_DROP_MEMBERS, err, db_r(&rows)) != E_OK)
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

enum err_code store_cursor_find(struct store *s, int64_t job, struct arena *arena,
                                struct slice *ret_cursor, struct err *err)
{
    return db_find(s->db, SQL_CURSOR_FIND, &db_text_table, arena, ret_cursor, err, db_i(job));
}
