/*
 * Known workers: a name, a number, and when it was last seen.
 *
 * That a worker was seen is written at most every SEEN_EVERY_US, on a shared store with each beat:
 * lists may show it that late.  A name that was not seen for FORGET_US is forgotten, and so is the
 * oldest of more than WORKERS_MAX.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/queues/worker.h"

#include <stdlib.h>
#include <string.h>

#include "base/jtext/jtext.h"
#include "engine/batch/names.h"
#include "engine/batch/transaction.h"
#include "engine/queues/instance.h"
#include "engine/queues/queue_log.h"
#include "engine/queues/subscribers.h"
#include "engine/shared/news.h"
#include "engine/state.h"
#include "store/queues.h"

#define SEEN_EVERY_US (10 * US_PER_S)
#define SAY_US US_PER_S /* shared stores: a beat does not report smaller differences */
#define FORGET_US (30 * US_PER_DAY)

enum { WORKERS_MAX = 10000 };

struct known_worker *worker_find(const struct engine *e, struct slice name)
{
    return name.size == 0 ? NULL : names_find(&e->workers.by_name, name);
}

int64_t worker_number(const struct engine *e, struct slice name)
{
    const struct known_worker *w = worker_find(e, name);

    return w == NULL ? 0 : w->row.id;
}

/* Copies the texts of a row into one piece of memory. */
static char *keep_texts(struct stored_worker *row)
{
    struct slice *texts[] = {&row->name,   &row->host,     &row->version, &row->queues,
                             &row->broken, &row->instance, &row->boot};
    size_t size = 1;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        size += texts[i]->size;
    char *all = mem_alloc(size);
    char *at = all;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i]->size > 0)
            memcpy(at, texts[i]->data, texts[i]->size);
        texts[i]->data = at;
        at += texts[i]->size;
    }
    return all;
}

static void take_worker(void *ctx, const struct stored_worker *row)
{
    struct engine *e = ctx;
    struct known_worker *w = mem_alloc(sizeof(*w));

    w->row = *row;
    w->heard_at = 0;
    w->stale = false;
    w->texts = keep_texts(&w->row);
    VEC_PUSH(&e->workers, w);
    names_add(&e->workers.by_name, w->row.name, w);
    instance_found(e, w);
}

enum err_code workers_load(struct engine *e, struct err *err)
{
    return store_workers_load(e->store, take_worker, e, err);
}

enum err_code worker_learn(struct engine *e, struct slice name, struct err *err)
{
    return store_worker_named(e->store, name, take_worker, e, err);
}

static void worker_free(struct known_worker *w)
{
    free(w->texts);
    free(w);
}

void workers_free(struct engine *e)
{
    names_deinit(&e->workers.by_name);
    for (size_t i = 0; i < e->workers.count; i++)
        worker_free(e->workers.items[i]);
    VEC_DEINIT(&e->workers);
}

static enum err_code forget(struct engine *e, size_t i, struct err *err)
{
    struct known_worker *w = e->workers.items[i];

    if (engine_write(e, err) != E_OK || store_worker_remove(e->store, &w->row, err) != E_OK)
        return err->code;
    names_remove(&e->workers.by_name, w->row.name);
    worker_free(w);
    e->workers.items[i] = e->workers.items[--e->workers.count];
    return E_OK;
}

enum err_code workers_forget_old(struct engine *e, struct err *err)
{
    for (size_t i = e->workers.count; i-- > 0;) {
        const struct stored_worker *row = &e->workers.items[i]->row;

        if (e->now.wall_at - row->seen_at > FORGET_US && !subscribers_include(e, row->name) &&
            forget(e, i, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

static enum err_code make_room(struct engine *e, struct err *err)
{
    size_t oldest = 0;

    if (e->workers.count < WORKERS_MAX)
        return E_OK;
    for (size_t i = 1; i < e->workers.count; i++)
        if (e->workers.items[i]->row.seen_at < e->workers.items[oldest]->row.seen_at)
            oldest = i;
    return forget(e, oldest, err);
}

static struct slice queues_json(struct engine *e, const struct exchange *x)
{
    CLEANUP(buf) struct buf b = BUF_INIT(OP_REPLY_MAX);

    buf_add_char(&b, '{');
    for (size_t i = 0; i < x->n_queues; i++) {
        jtext_add_comma(&b);
        jtext_add_string(&b, x->queues[i].name);
        buf_add_char(&b, ':');
        buf_add_int(&b, x->queues[i].max);
    }
    buf_add_char(&b, '}');
    return arena_copy(&e->batch.arena, buf_slice(&b));
}

/* Whether the request comes from the process that the row describes. */
static bool is_same_process(const struct known_worker *w, const struct worker_info *info)
{
    return w != NULL && (info->pid == 0 || info->pid == w->row.pid);
}

/* The row from the worker's own description if it sent one, else from what it claims. */
static struct stored_worker described_row(struct engine *e, const struct exchange *x,
                                          const struct known_worker *w)
{
    const struct worker_info *info = &x->worker;
    struct stored_worker row = {.name = info->name,
                                .host = info->host,
                                .version = info->version,
                                .pid = info->pid,
                                .described = info->described,
                                .queues = info->queues,
                                .slots = info->slots,
                                .broken = info->broken};

    if (info->described)
        return row;
    if (is_same_process(w, info) && w->row.described)
        return w->row;
    /* A claim for no jobs does not name what the worker's other claims ask for. */
    row.queues = is_same_process(w, info) && x->max == 0 ? w->row.queues : queues_json(e, x);
    return row;
}

/* The worker as lists show it, and the instance that has the name. */
static struct stored_worker seen_row(struct engine *e, const struct exchange *x,
                                     const struct known_worker *w)
{
    const struct worker_info *info = &x->worker;
    struct stored_worker row = described_row(e, x, w);
    bool is_known = w != NULL && slice_equal(w->row.instance, info->instance);

    if (info->host.size > 0 || !is_known)
        row.host = info->host;
    row.instance = info->leaves ? slice_make(NULL, 0) : info->instance;
    row.boot = info->boot.size > 0 || !is_known ? info->boot : w->row.boot;
    if (!info->leaves)
        row.since_at = is_known && w->row.since_at > 0 ? w->row.since_at : e->now.wall_at;
    else
        row.since_at = WORKER_HAS_LEFT;
    row.lease_us = x->lease_us;
    return row;
}

static bool is_as_known(const struct stored_worker *row, const struct stored_worker *known)
{
    return row->pid == known->pid && row->slots == known->slots &&
           worker_has_left(row) == worker_has_left(known) && row->described == known->described &&
           slice_equal(row->instance, known->instance) && slice_equal(row->queues, known->queues) &&
           slice_equal(row->broken, known->broken);
}

void workers_reported(struct engine *e, const struct seen_worker *seen, size_t n)
{
    size_t at = 0; /* `seen` is in the order of the workers */

    for (size_t i = 0; i < e->workers.count && at < n; i++) {
        struct stored_worker *row = &e->workers.items[i]->row;

        if (row->id != seen[at].id)
            continue;
        if (seen[at].is_said)
            row->seen_at = seen[at].at;
        at++;
    }
}

void worker_changed(struct engine *e, int64_t number)
{
    for (size_t i = 0; i < e->workers.count; i++)
        if (e->workers.items[i]->row.id == number)
            e->workers.items[i]->stale = true;
}

/* A worker that waits here is alive: other servers must know. */
static void see_waiting(struct engine *e)
{
    for (struct op *op = e->waiting.claims; op != NULL; op = op->next) {
        struct known_worker *w = op->exchange.worker.instance.size == 0
                                     ? NULL
                                     : worker_find(e, op->exchange.worker.name);

        if (w != NULL && (op->alive == NULL || op->alive(op)))
            w->heard_at = e->now.wall_at;
    }
}

struct seen_worker *workers_to_report(struct engine *e, size_t *ret_n)
{
    struct seen_worker *seen = arena_array(&e->batch.arena, e->workers.count + 1, sizeof(*seen));

    see_waiting(e);
    *ret_n = 0;
    for (size_t i = 0; i < e->workers.count; i++) {
        const struct known_worker *w = e->workers.items[i];

        if (w->heard_at - w->row.seen_at >= SAY_US)
            seen[(*ret_n)++] = (struct seen_worker){.id = w->row.id, .at = w->heard_at};
    }
    return seen;
}

enum err_code worker_report(struct engine *e, struct slice name, struct err *err)
{
    struct known_worker *w = must_tell_store(e) ? worker_find(e, name) : NULL;

    if (w == NULL || w->row.instance.size == 0 ||
        e->now.wall_at - w->row.seen_at < WORKER_LAG_BUSY_US)
        return E_OK;
    w->row.seen_at = e->now.wall_at;
    return store_worker_say(e->store, w->row.id, e->now.wall_at, err);
}

static bool is_news(const struct engine *e, const struct stored_worker *row,
                    const struct known_worker *w)
{
    if (w == NULL || w->stale || !is_as_known(row, &w->row))
        return true;
    /* On a shared store the next beat reports when it was seen. */
    return !must_tell_store(e) &&
           (e->now.wall_at < w->row.seen_at || e->now.wall_at - w->row.seen_at >= SEEN_EVERY_US);
}

bool worker_has_changed(struct engine *e, const struct exchange *x)
{
    const struct known_worker *w = names_find(&e->workers.by_name, x->worker.name);
    struct stored_worker row = seen_row(e, x, w);

    return x->worker.name.size > 0 && is_news(e, &row, w);
}

static void set_row(struct engine *e, struct known_worker *w, const struct stored_worker *row)
{
    char *old = w->texts; /* `row` may point into it, and the key of its name does */

    names_remove(&e->workers.by_name, w->row.name);
    w->row = *row;
    w->texts = keep_texts(&w->row);
    names_add(&e->workers.by_name, w->row.name, w);
    free(old);
}

struct refreshing {
    struct engine *e;
    struct known_worker *worker;
};

static void take_fresh(void *ctx, const struct stored_worker *row)
{
    struct refreshing *r = ctx;

    set_row(r->e, r->worker, row);
    instance_found(r->e, r->worker);
}

/* A worker that is gone from the store is written again with its next request. */
enum err_code worker_refresh(struct engine *e, struct known_worker *w, struct err *err)
{
    struct refreshing r = {e, w};

    w->row.pid = -1;
    w->stale = false;
    w->row.instance = slice_make(NULL, 0);
    return store_worker_find(e->store, w->row.id, take_fresh, &r, err);
}

/* `w`: the worker as it was known, NULL for a new one.  row->id becomes 0 when another instance
 * has taken the name. */
static enum err_code put_row(struct engine *e, struct known_worker *w, struct stored_worker *row,
                             struct err *err)
{
    const struct slice none = {0};

    row->seen_at = e->now.wall_at;
    if (w == NULL && make_room(e, err) != E_OK)
        return err->code;
    if (engine_write(e, err) != E_OK ||
        store_worker_put(e->store, row, w == NULL ? none : w->row.instance, &row->id, err) != E_OK)
        return err->code;
    if (row->id == 0)
        return E_OK;
    if (queue_note_broken(e, w == NULL ? none : w->row.broken, row, err) != E_OK)
        return err->code;
    news_add_worker(e, row->id);
    e->batch.workers_changed = true;
    if (w == NULL)
        take_worker(e, row);
    else
        set_row(e, w, row);
    return E_OK;
}

enum err_code worker_heard(struct engine *e, struct slice name, struct err *err)
{
    struct known_worker *w = names_find(&e->workers.by_name, name);
    struct stored_worker row = {.name = name, .queues = SLICE("{}")};

    if (w != NULL && w->stale && worker_refresh(e, w, err) != E_OK)
        return err->code;
    if (w != NULL && w->row.instance.size > 0)
        return E_OK; /* the caller may be its successor, which must not make it look alive */
    if (w != NULL)
        row = w->row;
    if (worker_has_left(&row))
        row.since_at = e->now.wall_at;
    return put_row(e, w, &row, err);
}

/* Refuses the op; its row is read again, as another instance has taken the name. */
static enum err_code lost_name(struct engine *e, struct op *op, struct known_worker *w)
{
    if (w != NULL)
        w->stale = true;
    else
        e->stale = true;
    err_set(&op->err, E_CONFLICT, "another worker has just taken the name '%.*s'",
            (int)op->exchange.worker.name.size, op->exchange.worker.name.data);
    return E_OK;
}

enum err_code worker_seen(struct engine *e, struct op *op, struct err *err)
{
    const struct exchange *x = &op->exchange;

    if (x->worker.name.size == 0)
        return E_OK;
    struct known_worker *w = worker_find(e, x->worker.name);

    if (w != NULL && w->stale && worker_refresh(e, w, err) != E_OK)
        return err->code;
    struct stored_worker row = seen_row(e, x, w);

    if (w != NULL && !is_news(e, &row, w)) {
        w->heard_at = e->now.wall_at;
    } else if (put_row(e, w, &row, err) != E_OK) {
        return err->code;
    } else if (row.id == 0) {
        return lost_name(e, op, w);
    }
    instance_heard(e, x);
    return E_OK;
}
