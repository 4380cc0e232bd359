/*
 * Workers as the engine knows them: a name, a number, and when it was heard of last.
 *
 * What is seen is written at most every SEEN_EVERY_US for a worker: lists show that much delay.  A name that
 * was not heard of for FORGET_US is forgotten, and the oldest when there are more than WORKERS_MAX.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/json.h"
#include "engine/engine_internal.h"

#define SEEN_EVERY_US (10 * US_PER_S)
#define FORGET_US (30 * US_PER_DAY)

enum { WORKERS_MAX = 10000 };

int64_t worker_number(const struct engine *e, struct slice name)
{
    const struct known_worker *w = name.size == 0 ? NULL : names_find(&e->worker_names, name);

    return w == NULL ? 0 : w->id;
}

static void take_worker(void *ctx, const struct stored_worker *row)
{
    struct engine *e = ctx;
    struct known_worker *w = mem_alloc(sizeof(*w));

    *w = (struct known_worker){
        .id = row->id,
        .name = mem_strndup(row->name.data, row->name.size),
        .queues = mem_strndup(row->queues.data, row->queues.size),
        .pid = row->pid,
        .seen_at = row->seen_at,
    };
    VEC_PUSH(&e->workers, w);
    names_add(&e->worker_names, slice_of(w->name), w);
}

enum err_code workers_load(struct engine *e, struct err *err)
{
    return store_workers_load(e->store, take_worker, e, err);
}

static void worker_free(struct known_worker *w)
{
    free(w->name);
    free(w->queues);
    free(w);
}

void workers_free(struct engine *e)
{
    names_deinit(&e->worker_names);
    for (size_t i = 0; i < e->workers.count; i++)
        worker_free(e->workers.items[i]);
    VEC_DEINIT(&e->workers);
}

static enum err_code forget(struct engine *e, size_t i, struct err *err)
{
    struct known_worker *w = e->workers.items[i];

    if (engine_write(e, err) != E_OK || store_worker_remove(e->store, w->id, err) != E_OK)
        return err->code;
    names_remove(&e->worker_names, slice_of(w->name));
    worker_free(w);
    e->workers.items[i] = e->workers.items[--e->workers.count];
    return E_OK;
}

enum err_code workers_forget_old(struct engine *e, struct err *err)
{
    for (size_t i = e->workers.count; i-- > 0;)
        if (e->now.wall_at - e->workers.items[i]->seen_at > FORGET_US && forget(e, i, err) != E_OK)
            return err->code;
    return E_OK;
}

static enum err_code make_room(struct engine *e, struct err *err)
{
    size_t oldest = 0;

    if (e->workers.count < WORKERS_MAX)
        return E_OK;
    for (size_t i = 1; i < e->workers.count; i++)
        if (e->workers.items[i]->seen_at < e->workers.items[oldest]->seen_at)
            oldest = i;
    return forget(e, oldest, err);
}

static struct slice queues_json(struct engine *e, const struct exchange *x)
{
    CLEANUP(buf) struct buf b = BUF_INIT(OP_REPLY_MAX);

    buf_add_char(&b, '{');
    for (size_t i = 0; i < x->n_queues; i++) {
        json_add_comma(&b);
        json_add_string(&b, x->queues[i].name);
        buf_add_char(&b, ':');
        buf_add_int(&b, x->queues[i].max);
    }
    buf_add_char(&b, '}');
    return arena_copy(&e->arena, buf_slice(&b));
}

enum err_code worker_seen(struct engine *e, const struct exchange *x, struct err *err)
{
    if (x->worker.name.size == 0)
        return E_OK;
    struct known_worker *w = names_find(&e->worker_names, x->worker.name);
    struct slice queues = queues_json(e, x);
    bool fresh = w != NULL && w->pid == x->worker.pid && slice_is(queues, w->queues) &&
                 e->now.wall_at - w->seen_at < SEEN_EVERY_US && e->now.wall_at >= w->seen_at;

    if (fresh)
        return E_OK;
    struct stored_worker row = {.name = x->worker.name,
                                .host = x->worker.host,
                                .version = x->worker.version,
                                .pid = x->worker.pid,
                                .queues = queues,
                                .seen_at = e->now.wall_at};

    if (w == NULL && make_room(e, err) != E_OK)
        return err->code;
    if (engine_write(e, err) != E_OK || store_worker_put(e->store, &row, &row.id, err) != E_OK)
        return err->code;
    if (w == NULL) {
        take_worker(e, &row);
        return E_OK;
    }
    free(w->queues);
    w->queues = mem_strndup(queues.data, queues.size);
    w->pid = row.pid;
    w->seen_at = row.seen_at;
    return E_OK;
}
