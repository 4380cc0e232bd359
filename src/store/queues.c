/* SPDX-License-Identifier: MIT */
#include "store/queues.h"

#include "store/db/columns.h"
#include "store/internal.h"
#include "store/meta.h"

/* The highest numbers ever assigned: none is assigned twice. */
#define META_QUEUES "queues"
#define META_WORKERS "workers"

#define META_DEFINITIONS "definitions"

static const struct db_column queue_columns[] = {
    DB_NUMBER(stored_queue, id, .min = 1, .max = INT64_MAX),
    DB_VALUE(DB_COLUMN_TEXT, stored_queue, name),
    DB_NUMBER(stored_queue, state, .min = QUEUE_UP, .max = QUEUE_DOWN),
    DB_VALUE(DB_COLUMN_TEXT, stored_queue, definition),
    DB_NUMBER(stored_queue, streak),
    DB_NUMBER(stored_queue, changed_at),
    DB_NUMBER(stored_queue, restarts),
};

static bool queue_has_name(void *item, const struct db_row *row, struct arena *arena)
{
    const struct stored_queue *q = item;

    (void)row;
    (void)arena;
    return q->name.size > 0;
}

static const struct db_table queue_table = DB_TABLE("queue", stored_queue, queue_columns,
                                                    .check = queue_has_name);

DB_EACH_FN(each_queue, stored_queue, queue_table)

enum err_code store_queues_load(struct store *s, store_queue_fn *on_queue, void *ctx,
                                struct err *err)
{
    return each_queue(s->db, SQL_QUEUE_LOAD, DB_ARGS(), on_queue, ctx, err);
}

enum err_code store_queue_add(struct store *s, const struct stored_queue *q, int64_t *ret_id,
                              struct err *err)
{
    int64_t id = 0;

    if (db_number(s->db, SQL_META_NEXT, &id, err, db_t(SLICE(META_QUEUES))) != E_OK ||
        db_do(s->db, SQL_QUEUE_ADD, err, db_i(id), db_t(q->name), db_i(q->state),
              db_t(q->definition), db_i(q->changed_at)) != E_OK)
        return err->code;
    *ret_id = id;
    return E_OK;
}

enum err_code store_queue_set(struct store *s, const struct stored_queue *q, struct err *err)
{
    return db_do(s->db, SQL_QUEUE_SET, err, db_i(q->id), db_i(q->state), db_t(q->definition),
                 db_i(q->streak), db_i(q->changed_at), db_i(q->restarts));
}

enum err_code store_queue_streak_lock(struct store *s, int64_t id, int *ret_streak, struct err *err)
{
    int64_t streak = 0;

    if (db_number(s->db, SQL_QUEUE_STREAK_LOCK, &streak, err, db_i(id)) != E_OK)
        return err->code;
    *ret_streak = (int)streak;
    return E_OK;
}

enum err_code store_queue_streak_set(struct store *s, int64_t id, int streak, struct err *err)
{
    return db_do(s->db, SQL_QUEUE_STREAK_SET, err, db_i(id), db_i(streak));
}

enum err_code store_queue_remove(struct store *s, int64_t id, struct err *err)
{
    return db_do(s->db, SQL_QUEUE_REMOVE, err, db_i(id));
}

enum err_code store_definitions_get(struct store *s, int64_t *ret_number, struct err *err)
{
    int64_t number = 1;

    if (store_meta_get(s, META_DEFINITIONS, &number, err) != E_OK)
        return err->code;
    *ret_number = number;
    return E_OK;
}

enum err_code store_definitions_set(struct store *s, int64_t number, struct err *err)
{
    return store_meta_set(s, META_DEFINITIONS, number, err);
}

enum err_code store_queue_next_ready(struct store *s, int64_t queue, int64_t *ret_id,
                                     struct err *err)
{
    return db_number(s->db, SQL_QUEUE_NEXT_READY, ret_id, err, db_i(queue));
}

enum err_code store_worker_put(struct store *s, const struct stored_worker *w, struct slice known,
                               int64_t *ret_id, struct err *err)
{
    int64_t id = 0;

    if (db_number(s->db, SQL_WORKER_NUMBER, &id, err, db_t(w->name)) != E_OK ||
        (id == 0 && db_number(s->db, SQL_META_NEXT, &id, err, db_t(SLICE(META_WORKERS))) != E_OK))
        return err->code;
    return db_number(s->db, SQL_WORKER_PUT, ret_id, err, db_t(w->name), db_t(w->host), db_i(w->pid),
                     db_t(w->version), db_t(w->queues), db_i(w->seen_at), db_i(id),
                     db_i(w->described), db_i(w->slots), db_t(w->broken), db_t(w->instance),
                     db_t(w->boot), db_i(w->since_at), db_i(w->lease_us), db_t(known));
}

enum err_code store_worker_remove(struct store *s, const struct stored_worker *w, struct err *err)
{
    return db_do(s->db, SQL_WORKER_REMOVE, err, db_i(w->id), db_i(w->seen_at));
}

static const struct db_column worker_columns[] = {
    DB_NUMBER(stored_worker, id),
    DB_VALUE(DB_COLUMN_TEXT, stored_worker, name),
    DB_VALUE(DB_COLUMN_TEXT, stored_worker, host),
    DB_NUMBER(stored_worker, pid),
    DB_VALUE(DB_COLUMN_TEXT, stored_worker, version),
    DB_VALUE(DB_COLUMN_TEXT, stored_worker, queues),
    DB_NUMBER(stored_worker, seen_at),
    DB_NUMBER(stored_worker, described),
    DB_NUMBER(stored_worker, slots),
    DB_VALUE(DB_COLUMN_TEXT, stored_worker, broken),
    DB_VALUE(DB_COLUMN_TEXT, stored_worker, instance),
    DB_VALUE(DB_COLUMN_TEXT, stored_worker, boot),
    DB_NUMBER(stored_worker, since_at),
    DB_NUMBER(stored_worker, lease_us),
};
static const struct db_table worker_table = DB_TABLE("worker", stored_worker, worker_columns);

DB_EACH_FN(each_worker, stored_worker, worker_table)

enum err_code store_worker_say(struct store *s, int64_t id, int64_t seen_at, struct err *err)
{
    return db_do(s->db, SQL_WORKER_SAY, err, db_i(id), db_i(seen_at));
}

enum err_code store_worker_find(struct store *s, int64_t id, store_worker_fn *on_worker, void *ctx,
                                struct err *err)
{
    return each_worker(s->db, SQL_WORKER_FIND, DB_ARGS(db_i(id)), on_worker, ctx, err);
}

enum err_code store_worker_named(struct store *s, struct slice name, store_worker_fn *on_worker,
                                 void *ctx, struct err *err)
{
    return each_worker(s->db, SQL_WORKER_NAMED, DB_ARGS(db_t(name)), on_worker, ctx, err);
}

enum err_code store_workers_load(struct store *s, store_worker_fn *on_worker, void *ctx,
                                 struct err *err)
{
    return each_worker(s->db, SQL_WORKER_LOAD, DB_ARGS(), on_worker, ctx, err);
}
