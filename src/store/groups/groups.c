/* SPDX-License-Identifier: MIT */
#include "store/groups/groups.h"

#include "base/vec.h"
#include "store/db/columns.h"
#include "store/internal.h"

/* An empty text, not an absent one. */
static struct db_value text_value(struct slice s)
{
    return (struct db_value){.type = DB_TEXT, .s = s};
}

static const struct db_column group_columns[] = {
    DB_NUMBER(stored_group, id, .min = 1, .max = INT64_MAX),
    DB_VALUE(DB_COLUMN_TEXT, stored_group, kind),
    DB_VALUE(DB_COLUMN_TEXT, stored_group, name),
    DB_NUMBER(stored_group, parent),
    DB_NUMBER(stored_group, depth, .max = GROUP_DEPTH_MAX),
    DB_NUMBER(stored_group, opener),
    DB_NUMBER(stored_group, node),
    DB_NUMBER(stored_group, state, .min = GROUP_OPEN, .max = GROUP_CANCELLED),
    DB_NUMBER(stored_group, flags),
    DB_NUMBER(stored_group, counts.made),
    DB_NUMBER(stored_group, counts.waiting),
    DB_NUMBER(stored_group, counts.running),
    DB_NUMBER(stored_group, counts.done),
    DB_NUMBER(stored_group, counts.failed),
    DB_NUMBER(stored_group, counts.cancelled),
    DB_NUMBER(stored_group, counts.dropped),
    DB_NUMBER(stored_group, counts.groups),
    DB_NUMBER(stored_group, version),
    DB_NUMBER(stored_group, finaliser),
    DB_NUMBER(stored_group, work, .max = GROUP_WORK_CHILDREN),
    DB_NUMBER(stored_group, place),
    DB_NUMBER(stored_group, keep_us),
    DB_NUMBER(stored_group, keep_failed_us),
    DB_NUMBER(stored_group, ended_at),
    DB_NUMBER(stored_group, gone_at),
    DB_VALUE(DB_COLUMN_OBJECT, stored_group, data),
    DB_VALUE(DB_COLUMN_OBJECT, stored_group, finally),
    DB_VALUE(DB_COLUMN_TEXT, stored_group, key),
    DB_NUMBER(stored_group, content),
};
static const struct db_table group_table = DB_TABLE("group", stored_group, group_columns);

DB_EACH_FN(each_group, stored_group, group_table)

/* ---- one group ---- */

enum err_code store_group_load(struct store *s, int64_t id, struct arena *arena,
                               struct stored_group *ret, struct err *err)
{
    return db_find(s->db, SQL_GROUP_LOAD, &group_table, arena, ret, err, db_i(id));
}

enum err_code store_group_bare(struct store *s, int64_t id, struct arena *arena,
                               struct stored_group *ret, struct err *err)
{
    return db_find(s->db, SQL_GROUP_BARE, &group_table, arena, ret, err, db_i(id));
}

enum err_code store_groups_bare(struct store *s, const int64_t *ids, size_t n,
                                store_group_fn *on_group, void *ctx, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct db_rows rows = store_id_rows(ids, n, &arena);

    return n == 0 ? E_OK
                  : each_group(s->db, SQL_GROUPS_BARE, DB_ARGS(db_r(&rows)), on_group, ctx, err);
}

enum err_code store_groups_claimed(struct store *s, const int64_t *ids, size_t n,
                                   store_group_fn *on_group, void *ctx, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct db_rows rows = store_id_rows(ids, n, &arena);

    return n == 0 ? E_OK
                  : each_group(s->db, SQL_GROUPS_CLAIMED, DB_ARGS(db_r(&rows)), on_group, ctx, err);
}

enum err_code store_group_data_size(struct store *s, int64_t id, int64_t *ret_size, struct err *err)
{
    return db_number(s->db, SQL_GROUP_DATA_SIZE, ret_size, err, db_i(id));
}

enum err_code store_group_hold(struct store *s, int64_t id, struct arena *arena,
                               struct stored_group *ret, struct err *err)
{
    return db_find(s->db, s->shared ? SQL_GROUP_HOLD : SQL_GROUP_LOAD, &group_table, arena, ret,
                   err, db_i(id));
}

enum err_code store_groups_load(struct store *s, const int64_t *ids, size_t n,
                                store_group_fn *on_group, void *ctx, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct db_rows rows = store_id_rows(ids, n, &arena);

    return n == 0 ? E_OK
                  : each_group(s->db, SQL_GROUPS_LOAD, DB_ARGS(db_r(&rows)), on_group, ctx, err);
}

enum err_code store_group_of_key(struct store *s, struct slice key, struct arena *arena,
                                 struct stored_group *ret, struct err *err)
{
    return db_find(s->db, SQL_GROUP_OF_KEY, &group_table, arena, ret, err, db_t(key));
}

enum err_code store_group_opened(struct store *s, int64_t opener, struct slice kind,
                                 struct slice name, struct arena *arena, struct stored_group *ret,
                                 struct err *err)
{
    return db_find(s->db, SQL_GROUP_OPENED, &group_table, arena, ret, err, db_i(opener),
                   text_value(kind), text_value(name));
}

enum err_code store_group_add(struct store *s, const struct stored_group *group, bool *ret_added,
                              struct err *err)
{
    int64_t changed = 0;

    if (db_change(s->db, SQL_GROUP_ADD, &changed, err, db_i(group->id), text_value(group->kind),
                  text_value(group->name), db_i(group->parent), db_i(group->depth),
                  db_i(group->opener), db_i(group->node), db_i(group->flags), db_i(group->version),
                  db_i(group->keep_us), db_i(group->keep_failed_us), db_t(group->data),
                  db_t(group->finally), db_t(group->key), db_i(group->content)) != E_OK)
        return err->code;
    *ret_added = changed == 1;
    return E_OK;
}

enum err_code store_group_add_root(struct store *s, struct err *err)
{
    return db_do(s->db, SQL_GROUP_ADD_ROOT, err);
}

enum err_code store_group_remove(struct store *s, int64_t id, struct err *err)
{
    return db_do(s->db, SQL_GROUP_REMOVE, err, db_i(id));
}

enum err_code store_group_set(struct store *s, const struct stored_group *group, struct err *err)
{
    return db_do(s->db, SQL_GROUP_SET, err, db_i(group->id), db_i(group->node), db_i(group->state),
                 db_i(group->flags), db_i(group->finaliser), db_i(group->work), db_i(group->place),
                 db_i(group->ended_at), db_i(group->gone_at), db_t(group->finally));
}

enum err_code store_group_set_data(struct store *s, int64_t id, struct slice data, int64_t version,
                                   struct err *err)
{
    return db_do(s->db, SQL_GROUP_SET_DATA, err, db_i(id), db_t(data), db_i(version));
}

/* ---- counting ---- */

enum { DELTA_COLUMNS = 12 };

static void fill_delta(const struct group_delta *d, struct db_value *row)
{
    row[0] = db_i(d->id);
    row[1] = db_i(d->counts.made);
    row[2] = db_i(d->counts.waiting);
    row[3] = db_i(d->counts.running);
    row[4] = db_i(d->counts.done);
    row[5] = db_i(d->counts.failed);
    row[6] = db_i(d->counts.cancelled);
    row[7] = db_i(d->counts.dropped);
    row[8] = db_i(d->counts.groups);
    row[9] = db_i(d->set);
    row[10] = db_i(d->clear);
    row[11] = db_i(d->walks ? 2 : d->stirs ? 1 : 0);
}

struct due_rows {
    struct arena *arena;
    struct stored_group *items;
    size_t n, max;
};

static void on_due_row(void *ctx, const struct db_row *row)
{
    struct due_rows *t = ctx;

    if (t->n < t->max && db_row_read(row, &group_table, t->arena, &t->items[t->n]))
        t->n++;
}

enum err_code store_groups_lock(struct store *s, const int64_t *ids, size_t n, struct arena *arena,
                                struct err *err)
{
    struct db_rows rows = store_id_rows(ids, n, arena);

    return s->shared ? db_do(s->db, SQL_GROUPS_LOCK, err, db_r(&rows)) : E_OK;
}

enum err_code store_groups_count(struct store *s, const struct group_delta *deltas, size_t n,
                                 struct arena *arena, int64_t *ret_counted, store_group_fn *on_due,
                                 void *ctx, struct err *err)
{
    struct db_value *values = arena_array(arena, n * DELTA_COLUMNS, sizeof(*values));
    struct db_value *ids = arena_array(arena, n, sizeof(*ids));
    struct db_rows rows = {values, n, DELTA_COLUMNS};
    struct db_rows id_rows = {ids, n, 1};
    struct due_rows due = {arena, arena_array(arena, n, sizeof(struct stored_group)), 0, n};
    const struct db_value count_args[] = {db_r(&rows)};
    const struct db_value id_args[] = {db_r(&id_rows)};
    struct db_call calls[] = {
        {.sql = SQL_GROUPS_COUNT, .args = count_args, .n_args = 1},
        {.sql = SQL_GROUPS_JUDGE, .args = id_args, .n_args = 1, .on_row = on_due_row, .ctx = &due},
    };

    ASSERT(n <= GROUPS_COUNTED);
    for (size_t i = 0; i < n; i++) {
        fill_delta(&deltas[i], &values[i * DELTA_COLUMNS]);
        ids[i] = db_i(deltas[i].id);
    }
    if (db_run(s->db, calls, ARRAY_LEN(calls), err) != E_OK)
        return err->code;
    *ret_counted = calls[0].changed;
    for (size_t i = 0; i < due.n; i++)
        on_due(ctx, &due.items[i]);
    return E_OK;
}

enum err_code store_groups_any_closed(struct store *s, const int64_t *ids, size_t n,
                                      struct arena *arena, bool *ret_any, struct err *err)
{
    struct db_rows rows = store_id_rows(ids, n, arena);

    *ret_any = false;
    return n == 0 ? E_OK : db_exists(s->db, SQL_GROUPS_NOT_OPEN, ret_any, err, db_r(&rows));
}

/* ---- who opened them ---- */

struct id_reader {
    VEC(int64_t) ids;
};

static void on_id_row(void *ctx, const struct db_row *row)
{
    struct id_reader *t = ctx;

    VEC_PUSH(&t->ids, db_col_int(row, 0));
}

enum err_code store_groups_of_opener(struct store *s, int64_t opener, store_id_fn *on_id, void *ctx,
                                     bool *ret_more, struct err *err)
{
    struct id_reader t = {.ids = VEC_INIT};
    enum err_code code = db_rows(s->db, SQL_GROUPS_OF_OPENER, on_id_row, &t, err, db_i(opener),
                                 db_i(GROUPS_COUNTED));

    *ret_more = t.ids.count == GROUPS_COUNTED;
    if (code == E_OK && *ret_more)
        code = db_do(s->db, SQL_GROUPS_OPENER_OVER, err, db_i(opener),
                     db_i(t.ids.items[t.ids.count - 1]));
    for (size_t i = 0; i < t.ids.count && code == E_OK; i++)
        on_id(ctx, t.ids.items[i]);
    VEC_DEINIT(&t.ids);
    return code;
}

enum err_code store_groups_leave(struct store *s, int64_t node, struct err *err)
{
    return db_do(s->db, SQL_GROUPS_LEAVE, err, db_i(node));
}

enum err_code store_groups_leave_dead(struct store *s, struct err *err)
{
    return db_do(s->db, SQL_GROUPS_LEAVE_DEAD, err);
}

/* ---- work ---- */

enum err_code store_groups_work_next(struct store *s, int64_t above, struct arena *arena,
                                     struct stored_group *ret, struct err *err)
{
    return db_find(s->db, SQL_GROUPS_WORK_NEXT, &group_table, arena, ret, err, db_i(above));
}

enum err_code store_group_step(struct store *s, const struct stored_group *was, int work,
                               int64_t place, struct err *err)
{
    return db_do(s->db, SQL_GROUP_STEP, err, db_i(was->id), db_i(was->work), db_i(was->place),
                 db_i(was->flags), db_i(work), db_i(place));
}

enum err_code store_group_members(struct store *s, int64_t group, int64_t above, size_t limit,
                                  int64_t *ret_ids, size_t *ret_n, struct err *err)
{
    return db_numbers(s->db, SQL_GROUP_MEMBERS, ret_ids, ret_n, err, db_i(group), db_i(above),
                      db_i((int64_t)limit));
}

enum err_code store_group_results(struct store *s, int64_t group, int64_t above, size_t limit,
                                  int64_t *ret_ids, size_t *ret_n, struct err *err)
{
    return db_numbers(s->db, SQL_GROUP_RESULTS, ret_ids, ret_n, err, db_i(group), db_i(above),
                      db_i((int64_t)limit));
}

enum err_code store_group_children(struct store *s, int64_t group, int64_t above, size_t limit,
                                   store_group_fn *on_group, void *ctx, struct err *err)
{
    return each_group(s->db, SQL_GROUP_CHILDREN,
                      DB_ARGS(db_i(group), db_i(above), db_i((int64_t)limit)), on_group, ctx, err);
}

enum err_code store_groups_held(struct store *s, store_group_fn *on_group, void *ctx,
                                struct err *err)
{
    return each_group(s->db, SQL_GROUPS_HELD, DB_ARGS(), on_group, ctx, err);
}

/* ---- lists and retention ---- */

enum err_code store_groups_list(struct store *s, const struct groups_wanted *f,
                                store_group_fn *on_group, void *ctx, struct err *err)
{
    struct db_value kind = {.type = DB_NULL};

    if (f->kind.data != NULL)
        kind = text_value(f->kind);
    const struct db_value args[] = {db_i(f->below), kind, db_i(f->limit), db_i(f->state),
                                    db_i(f->parent)};

    return each_group(s->db, f->parent == 0 ? SQL_GROUPS_LIST : SQL_GROUPS_LIST_OF,
                      (struct db_args){args, f->parent == 0 ? 4 : 5}, on_group, ctx, err);
}

enum err_code store_groups_gone(struct store *s, int64_t now_at, size_t limit, int64_t *ret_ids,
                                size_t *ret_n, struct err *err)
{
    return db_numbers(s->db, SQL_GROUPS_GONE, ret_ids, ret_n, err, db_i(now_at),
                      db_i((int64_t)limit));
}

enum err_code store_groups_gone_next(struct store *s, int64_t *ret_at, struct err *err)
{
    return db_number(s->db, SQL_GROUPS_GONE_NEXT, ret_at, err);
}

/* ---- kinds ---- */

static const struct db_column kind_columns[] = {
    DB_NUMBER(stored_kind, id),
    DB_VALUE(DB_COLUMN_TEXT, stored_kind, name),
    DB_VALUE(DB_COLUMN_OBJECT, stored_kind, definition),
};
static const struct db_table kind_table = DB_TABLE("kind of groups", stored_kind, kind_columns);

DB_EACH_FN(each_kind, stored_kind, kind_table)

enum err_code store_kind_find(struct store *s, struct slice name, struct arena *arena,
                              struct stored_kind *ret, struct err *err)
{
    return db_find(s->db, SQL_KIND_FIND, &kind_table, arena, ret, err, text_value(name));
}

enum err_code store_kind_put(struct store *s, const struct stored_kind *kind, struct err *err)
{
    return db_do(s->db, SQL_KIND_PUT, err, db_i(kind->id), text_value(kind->name),
                 text_value(kind->definition));
}

enum err_code store_kind_remove(struct store *s, int64_t id, struct err *err)
{
    return db_do(s->db, SQL_KIND_REMOVE, err, db_i(id));
}

enum err_code store_kinds_list(struct store *s, struct slice above, size_t limit,
                               store_kind_fn *on_kind, void *ctx, struct err *err)
{
    return each_kind(s->db, SQL_KINDS_LIST, DB_ARGS(text_value(above), db_i((int64_t)limit)),
                     on_kind, ctx, err);
}

enum err_code store_group_waiting(struct store *s, int64_t id, int64_t *ret_n, struct err *err)
{
    return db_number(s->db, SQL_GROUP_WAITING, ret_n, err, db_i(id));
}
