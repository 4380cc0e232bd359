/* SPDX-License-Identifier: MIT */
#include "store/clock/schedules.h"

#include "base/clock.h"
#include "store/db/columns.h"
#include "store/internal.h"

/* An empty text, not an absent one. */
static struct db_value text_value(struct slice s)
{
    return (struct db_value){.type = DB_TEXT, .s = s};
}

/* ---- schedules ---- */

static const struct db_column schedule_columns[] = {
    DB_NUMBER(stored_schedule, id),
    DB_VALUE(DB_COLUMN_TEXT, stored_schedule, name),
    DB_VALUE(DB_COLUMN_OBJECT, stored_schedule, definition),
    DB_NUMBER(stored_schedule, paused),
    DB_NUMBER(stored_schedule, last_at),
    DB_NUMBER(stored_schedule, next_at),
    DB_NUMBER(stored_schedule, job),
    DB_NUMBER(stored_schedule, entries),
    DB_NUMBER(stored_schedule, fired),
    DB_NUMBER(stored_schedule, skipped),
    DB_NUMBER(stored_schedule, missed),
};
static const struct db_table schedule_table = DB_TABLE("schedule", stored_schedule,
                                                       schedule_columns);

enum err_code store_schedule_find(struct store *s, struct slice name, struct arena *arena,
                                  struct stored_schedule *ret, struct err *err)
{
    return db_find(s->db, SQL_SCHEDULE_FIND, &schedule_table, arena, ret, err, text_value(name));
}

enum err_code store_schedule_hold(struct store *s, struct slice name, struct arena *arena,
                                  struct stored_schedule *ret, struct err *err)
{
    return db_find(s->db, SQL_SCHEDULE_HOLD, &schedule_table, arena, ret, err, text_value(name));
}

DB_EACH_FN(each_schedule, stored_schedule, schedule_table)

enum err_code store_schedules_list(struct store *s, struct slice above, size_t limit,
                                   store_schedule_fn *on_schedule, void *ctx, struct err *err)
{
    return each_schedule(s->db, SQL_SCHEDULES_LIST,
                         DB_ARGS(text_value(above), db_i((int64_t)limit)), on_schedule, ctx, err);
}

enum err_code store_schedules_due(struct store *s, int64_t now_at, size_t limit,
                                  store_schedule_fn *on_schedule, void *ctx, struct err *err)
{
    return each_schedule(s->db, SQL_SCHEDULES_DUE, DB_ARGS(db_i(now_at), db_i((int64_t)limit)),
                         on_schedule, ctx, err);
}

enum err_code store_schedules_ahead(struct store *s, int64_t now_at, store_schedule_fn *on_schedule,
                                    void *ctx, struct err *err)
{
    return each_schedule(s->db, SQL_SCHEDULES_AHEAD, DB_ARGS(db_i(now_at)), on_schedule, ctx, err);
}

enum err_code store_schedules_next(struct store *s, int64_t *ret_at, struct err *err)
{
    int64_t at = TIME_NEVER;

    if (db_number_if(s->db, SQL_SCHEDULES_NEXT, &at, err) != E_OK)
        return err->code;
    *ret_at = at;
    return E_OK;
}

enum err_code store_schedule_add(struct store *s, const struct stored_schedule *x, struct err *err)
{
    return db_do(s->db, SQL_SCHEDULE_ADD, err, db_i(x->id), text_value(x->name),
                 text_value(x->definition), db_i(x->paused), db_i(x->last_at), db_i(x->next_at),
                 db_i(x->job), db_i(x->entries), db_i(x->fired), db_i(x->skipped), db_i(x->missed));
}

enum err_code store_schedule_update(struct store *s, const struct stored_schedule *was,
                                    const struct stored_schedule *now, bool *ret_hit,
                                    struct err *err)
{
    int64_t changed = 0;

    if (db_change(s->db, SQL_SCHEDULE_UPDATE, &changed, err, db_i(was->id), db_i(was->last_at),
                  db_i(was->entries), text_value(now->definition), db_i(now->paused),
                  db_i(now->last_at), db_i(now->next_at), db_i(now->job), db_i(now->entries),
                  db_i(now->fired), db_i(now->skipped), db_i(now->missed)) != E_OK)
        return err->code;
    *ret_hit = changed > 0;
    return E_OK;
}

enum err_code store_schedule_remove(struct store *s, int64_t id, struct err *err)
{
    if (db_do(s->db, SQL_FIRINGS_TRIM, err, db_i(id), db_i(INT64_MAX)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_SCHEDULE_REMOVE, err, db_i(id));
}

/* ---- entries ---- */

static const struct db_column firing_columns[] = {
    DB_NUMBER(stored_firing, schedule),
    DB_NUMBER(stored_firing, seq),
    DB_NUMBER(stored_firing, state, .min = FIRING_FIRED, .max = FIRING_STATE_COUNT - 1),
    DB_NUMBER(stored_firing, nominal_at),
    DB_NUMBER(stored_firing, until_at),
    DB_NUMBER(stored_firing, count),
    DB_NUMBER(stored_firing, at),
    DB_NUMBER(stored_firing, job),
    DB_VALUE(DB_COLUMN_TEXT, stored_firing, why),
};
static const struct db_table firing_table = DB_TABLE("firing of schedule", stored_firing,
                                                     firing_columns);

enum err_code store_firing_add(struct store *s, const struct stored_firing *f, struct err *err)
{
    if (db_do(s->db, SQL_FIRING_ADD, err, db_i(f->schedule), db_i(f->seq), db_i(f->state),
              db_i(f->nominal_at), db_i(f->until_at), db_i(f->count), db_i(f->at), db_i(f->job),
              text_value(f->why)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_FIRINGS_TRIM, err, db_i(f->schedule), db_i(f->seq - FIRINGS_KEPT));
}

DB_EACH_FN(each_firing, stored_firing, firing_table)

enum err_code store_firings_list(struct store *s, int64_t schedule, size_t limit,
                                 store_firing_fn *on_firing, void *ctx, struct err *err)
{
    return each_firing(s->db, SQL_FIRINGS_LIST, DB_ARGS(db_i(schedule), db_i((int64_t)limit)),
                       on_firing, ctx, err);
}

enum err_code store_firings_missed(struct store *s, int64_t schedule, int64_t at,
                                   int64_t *ret_first_at, struct err *err)
{
    return db_number(s->db, SQL_FIRINGS_MISSED, ret_first_at, err, db_i(schedule), db_i(at));
}

enum err_code store_firings_fired(struct store *s, int64_t schedule, int64_t nominal_at,
                                  bool *ret_fired, struct err *err)
{
    int64_t n = 0;

    if (db_number(s->db, SQL_FIRINGS_FIRED, &n, err, db_i(schedule), db_i(nominal_at)) != E_OK)
        return err->code;
    *ret_fired = n > 0;
    return E_OK;
}
