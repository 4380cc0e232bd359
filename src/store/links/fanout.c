/* SPDX-License-Identifier: MIT */
#include "store/links/fanout.h"

#include <endian.h>
#include <string.h>

#include "store/db/columns.h"
#include "store/internal.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "ids are kept as little endian bytes");
_Static_assert(sizeof(struct spread_target) == 16, "targets are kept as they are");

/* ---- publications ---- */

enum { KIND_PUBLISHED, KIND_CHAINED, KIND_FIRED }; /* `chained`, as it is stored */

enum err_code store_spread_add(struct store *s, const struct stored_spread *spread, struct err *err)
{
    struct slice targets = slice_make((const char *)spread->targets,
                                      spread->n_targets * sizeof(*spread->targets));

    int kind = spread->fired ? KIND_FIRED : spread->chained ? KIND_CHAINED : KIND_PUBLISHED;

    if (db_do(s->db, SQL_SHARED_ADD, err, db_i(spread->id), db_t(spread->params),
              db_b(spread->body)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_SPREAD_ADD, err, db_i(spread->id), db_t(spread->key),
                 db_i(spread->fired ? spread->cause_queue : (int64_t)spread->content), db_i(kind),
                 db_i(spread->priority), db_t(spread->labels), db_t(spread->routing), db_b(targets),
                 db_i((int64_t)spread->place));
}

/* A row as it is read: the kind becomes flags, and `has_shared` says that its payload exists. */
struct spread_row {
    struct stored_spread spread;
    int64_t kind;
    int64_t shared;
    bool has_shared;
};

static bool spread_finish(void *item, const struct db_row *row, struct arena *arena)
{
    struct spread_row *r = item;

    (void)row;
    (void)arena;
    r->spread.chained = r->kind == KIND_CHAINED;
    r->spread.fired = r->kind == KIND_FIRED;
    r->spread.cause_queue = (int64_t)r->spread.content;
    return r->spread.place < r->spread.n_targets && r->has_shared;
}

static const struct db_column spread_columns[] = {
    DB_NUMBER(spread_row, spread.id),
    DB_VALUE(DB_COLUMN_TEXT, spread_row, spread.key),
    DB_NUMBER(spread_row, spread.content),
    DB_NUMBER(spread_row, kind),
    DB_NUMBER(spread_row, spread.priority),
    DB_VALUE(DB_COLUMN_OBJECT, spread_row, spread.labels),
    DB_VALUE(DB_COLUMN_OBJECT, spread_row, spread.routing),
    DB_ARRAY(spread_row, spread.targets, spread.n_targets, .exact = true),
    DB_NUMBER(spread_row, spread.place, .min = 0, .max = INT64_MAX),
    DB_VALUE(DB_COLUMN_OBJECT, spread_row, spread.params),
    DB_VALUE(DB_COLUMN_BYTES, spread_row, spread.body),
    DB_NUMBER(spread_row, shared, .has = offsetof(struct spread_row, has_shared)),
};
static const struct db_table spread_table = DB_TABLE("publication", spread_row, spread_columns,
                                                     .check = spread_finish);

enum err_code store_spread_next(struct store *s, int64_t above, struct arena *arena,
                                struct stored_spread *ret, struct err *err)
{
    struct spread_row r;

    if (db_find(s->db, SQL_SPREAD_NEXT, &spread_table, arena, &r, err, db_i(above)) != E_OK) {
        ret->id = r.spread.id;
        return err->code;
    }
    *ret = r.spread;
    return E_OK;
}

enum err_code store_spread_of_key(struct store *s, struct slice key, struct arena *arena,
                                  struct stored_spread *ret, struct err *err)
{
    struct spread_row r;

    if (db_find(s->db, SQL_SPREAD_OF_KEY, &spread_table, arena, &r, err, db_t(key)) != E_OK)
        return err->code;
    *ret = r.spread;
    return E_OK;
}

struct target_counter {
    int64_t queue, n;
};

static void count_targets(void *ctx, const struct db_row *row)
{
    struct target_counter *t = ctx;
    struct slice bytes = db_col_blob(row, 0);
    struct spread_target target;
    size_t n = bytes.size / sizeof(target);
    size_t place = (size_t)db_col_int(row, 1);

    for (size_t i = place < n ? place : 0; i < n; i++) { /* of one that is damaged, all */
        memcpy(&target, bytes.data + i * sizeof(target), sizeof(target));
        t->n += target.queue == t->queue;
    }
}

enum err_code store_spread_count(struct store *s, int64_t queue, int64_t *ret_n, struct err *err)
{
    struct target_counter t = {.queue = queue};

    if (db_rows(s->db, SQL_SPREAD_TARGETS, count_targets, &t, err) != E_OK)
        return err->code;
    *ret_n = t.n;
    return E_OK;
}

enum err_code store_spread_step(struct store *s, const struct stored_spread *spread,
                                struct err *err)
{
    if (spread->place >= spread->n_targets)
        return db_do(s->db, SQL_SPREAD_REMOVE, err, db_i(spread->id));
    return db_do(s->db, SQL_SPREAD_PLACE, err, db_i(spread->id), db_i((int64_t)spread->place));
}

/* ---- ends ---- */

enum err_code store_follow_add(struct store *s, const struct stored_follow *f, struct err *err)
{
    return db_do(s->db, SQL_FOLLOW_ADD, err, db_i(f->id), db_i(f->job), db_i(f->queue),
                 db_i(f->state), db_i(f->step), db_i(f->whole), db_t(f->dests),
                 db_i((int64_t)f->place));
}

static const struct db_column follow_columns[] = {
    DB_NUMBER(stored_follow, id),
    DB_NUMBER(stored_follow, job),
    DB_NUMBER(stored_follow, queue),
    DB_NUMBER(stored_follow, state, .min = JOB_DONE, .max = JOB_FAILED),
    DB_NUMBER(stored_follow, step),
    DB_NUMBER(stored_follow, whole),
    DB_VALUE(DB_COLUMN_TEXT, stored_follow, dests),
    DB_NUMBER(stored_follow, place, .min = 0, .max = INT64_MAX),
};
_Static_assert(JOB_FAILED == JOB_DONE + 1, "ends that lead on are neighbours");
static const struct db_table follow_table = DB_TABLE("end", stored_follow, follow_columns);

enum err_code store_follow_next(struct store *s, int64_t above, struct arena *arena,
                                struct stored_follow *ret, struct err *err)
{
    return db_find(s->db, SQL_FOLLOW_NEXT, &follow_table, arena, ret, err, db_i(above));
}

enum err_code store_follow_has(struct store *s, int64_t job, bool *ret_has, struct err *err)
{
    return db_exists(s->db, SQL_FOLLOW_OF_JOB, ret_has, err, db_i(job));
}

enum err_code store_follow_place(struct store *s, int64_t id, size_t place, struct err *err)
{
    return db_do(s->db, SQL_FOLLOW_PLACE, err, db_i(id), db_i((int64_t)place));
}

enum err_code store_follow_remove(struct store *s, int64_t id, struct err *err)
{
    return db_do(s->db, SQL_FOLLOW_REMOVE, err, db_i(id));
}

enum err_code store_fanout_any(struct store *s, bool *ret_any, struct err *err)
{
    return db_exists(s->db, SQL_FANOUT_ANY, ret_any, err);
}
