/* SPDX-License-Identifier: MIT */
#include "store/queues.h"

#include "store/internal.h"
#include "store/meta.h"

/* The highest numbers ever given: none is given twice. */
#define META_QUEUES "queues"
#define META_WORKERS "workers"

#define META_DEFINITIONS "definitions"

struct queue_taker {
    store_queue_fn *on_queue;
    void *ctx;
};

static void take_queue(void *ctx, const struct db_row *row)
{
    struct queue_taker *t = ctx;
    struct stored_queue q = {
        .id = db_col_int(row, 0),
        .name = db_col_text(row, 1),
        .state = (enum queue_state)db_col_int(row, 2),
        .definition = db_col_text(row, 3),
        .streak = (int)db_col_int(row, 4),
        .changed_at = db_col_int(row, 5),
        .restarts = db_col_int(row, 6),
    };

    if (q.state < QUEUE_UP || q.state > QUEUE_DOWN || q.name.size == 0 || q.id <= 0)
        db_row_refuse(row, "queue %lld: its row cannot be", (long long)q.id);
    else
        t->on_queue(t->ctx, &q);
}

enum err_code store_queues_load(struct store *s, store_queue_fn *on_queue, void *ctx,
                                struct err *err)
{
    struct queue_taker t = {on_queue, ctx};
    struct db_taker taker = {.on_row = take_queue, .ctx = &t};

    return db_one(s->db, SQL_QUEUE_LOAD, NULL, 0, &taker, err);
}

enum err_code store_queue_add(struct store *s, const struct stored_queue *q, int64_t *ret_id,
                              struct err *err)
{
    int64_t last = 0;

    if (store_meta_get(s, META_QUEUES, &last, err) != E_OK ||
        store_meta_set(s, META_QUEUES, last + 1, err) != E_OK ||
        db_do(s->db, SQL_QUEUE_ADD, err, db_i(last + 1), db_t(q->name), db_i(q->state),
              db_t(q->definition), db_i(q->changed_at)) != E_OK)
        return err->code;
    *ret_id = last + 1;
    return E_OK;
}

enum err_code store_queue_set(struct store *s, const struct stored_queue *q, struct err *err)
{
    return db_do(s->db, SQL_QUEUE_SET, err, db_i(q->id), db_i(q->state), db_t(q->definition),
                 db_i(q->streak), db_i(q->changed_at), db_i(q->restarts));
}

enum err_code store_queue_streak_lock(struct store *s, int64_t id, int *ret_streak, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_QUEUE_STREAK_LOCK, take_one_int, &got, err, db_i(id)) != E_OK)
        return err->code;
    *ret_streak = (int)got.value;
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
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_QUEUE_NEXT_READY, take_one_int, &got, err, db_i(queue)) != E_OK)
        return err->code;
    *ret_id = got.value;
    return E_OK;
}

enum err_code store_worker_put(struct store *s, const struct stored_worker *w, struct slice known,
                               int64_t *ret_id, struct err *err)
{
    struct taken_int got = {0};
    int64_t last = 0;

    if (store_meta_get(s, META_WORKERS, &last, err) != E_OK ||
        db_do_rows(s->db, SQL_WORKER_PUT, take_one_int, &got, err, db_t(w->name), db_t(w->host),
                   db_i(w->pid), db_t(w->version), db_t(w->queues), db_i(w->seen_at),
                   db_i(last + 1), db_i(w->described), db_i(w->slots), db_t(w->broken),
                   db_t(w->instance), db_t(w->boot), db_i(w->since_at), db_i(w->lease_us),
                   db_t(known)) != E_OK)
        return err->code;
    *ret_id = got.found ? got.value : 0;
    return got.value > last ? store_meta_set(s, META_WORKERS, got.value, err) : E_OK;
}

enum err_code store_worker_remove(struct store *s, const struct stored_worker *w, struct err *err)
{
    return db_do(s->db, SQL_WORKER_REMOVE, err, db_i(w->id), db_i(w->seen_at));
}

struct worker_taker {
    store_worker_fn *on_worker;
    void *ctx;
};

static void take_worker(void *ctx, const struct db_row *row)
{
    struct worker_taker *t = ctx;
    struct stored_worker w = {
        .id = db_col_int(row, 0),
        .name = db_col_text(row, 1),
        .host = db_col_text(row, 2),
        .pid = db_col_int(row, 3),
        .version = db_col_text(row, 4),
        .queues = db_col_text(row, 5),
        .seen_at = db_col_int(row, 6),
        .described = db_col_int(row, 7) != 0,
        .slots = db_col_int(row, 8),
        .broken = db_col_text(row, 9),
        .instance = db_col_text(row, 10),
        .boot = db_col_text(row, 11),
        .since_at = db_col_int(row, 12),
        .lease_us = db_col_int(row, 13),
    };

    t->on_worker(t->ctx, &w);
}

enum err_code store_worker_say(struct store *s, int64_t id, int64_t seen_at, struct err *err)
{
    return db_do(s->db, SQL_WORKER_SAY, err, db_i(id), db_i(seen_at));
}

enum err_code store_worker_find(struct store *s, int64_t id, store_worker_fn *on_worker, void *ctx,
                                struct err *err)
{
    struct worker_taker t = {on_worker, ctx};

    return db_do_rows(s->db, SQL_WORKER_FIND, take_worker, &t, err, db_i(id));
}

enum err_code store_workers_load(struct store *s, store_worker_fn *on_worker, void *ctx,
                                 struct err *err)
{
    struct worker_taker t = {on_worker, ctx};
    struct db_taker taker = {.on_row = take_worker, .ctx = &t};

    return db_one(s->db, SQL_WORKER_LOAD, NULL, 0, &taker, err);
}
