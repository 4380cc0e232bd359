/* SPDX-License-Identifier: MIT */
#include "store/copy/guard.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "store/copy/copy.h"
#include "store/copy/rows.h"
#include "store/internal.h"
#include "store/jobs/emits.h"
#include "store/jobs/jobs.h"
#include "store/meta.h"
#include "store/queues.h"

#define BUILT_IN_QUEUE "default" /* the engine makes it in a new store */

/* ---- unfinished copies ---- */

enum err_code store_copy_refuse_half(struct store *s, struct err *err)
{
    int64_t mark = 0;

    if (store_meta_get(s, META_COPYING, &mark, err) != E_OK)
        return err->code;
    return mark == 0
               ? E_OK
               : err_set(err, E_UNAVAILABLE,
                         "a copy into this store was not finished: repeat `waybill store copy`, "
                         "which begins anew");
}

/* ---- versions ---- */

static int newest_version(void)
{
    int newest = 0;

    for (int i = 0; i < SQL_MIGRATION_COUNT; i++)
        if (sql_migrations[i].number > newest)
            newest = sql_migrations[i].number;
    return newest;
}

enum err_code copy_require_version(struct store *s, struct err *err)
{
    if (s->version == newest_version())
        return E_OK;
    if (s->version == 0)
        return err_set(err, E_NOT_FOUND, "there is no store");
    return err_set(
        err, E_INVALID,
        "it has version %d, this waybill copies version %d: start a server on it once to "
        "migrate it",
        s->version, newest_version());
}

/* ---- servers ---- */

struct live_servers {
    int count;
    char first[120];
};

static void on_server_row(void *ctx, const struct db_row *row)
{
    struct live_servers *live = ctx;
    struct slice name = db_col_text(row, 0);
    struct slice host = db_col_text(row, 1);

    if (live->count++ == 0)
        snprintf(live->first, sizeof(live->first), "%.*s on %.*s", (int)name.size, name.data,
                 (int)host.size, host.data == NULL ? "" : host.data);
}

static enum err_code require_no_server(struct store *s, struct err *err)
{
    struct live_servers live = {0};

    if (db_rows(s->db, SQL_COPY_LIVE_SERVERS, on_server_row, &live, err) != E_OK)
        return err->code;
    if (live.count == 0)
        return E_OK;
    return err_set(
        err, E_UNAVAILABLE,
        "server %s is running there (%d in all): stop every server; one that was killed is "
        "declared dead within a minute",
        live.first, live.count);
}

static enum err_code try_lock(struct store *s, bool *ret_locked, struct err *err)
{
    int64_t locked = 0;

    if (db_rows(s->db, SQL_COPY_PATIENCE, NULL, NULL, err) != E_OK ||
        db_number(s->db, SQL_COPY_LOCK, &locked, err) != E_OK)
        return err->code;
    *ret_locked = locked != 0;
    return E_OK;
}

static enum err_code is_held(struct err *err)
{
    return err_set(err, E_UNAVAILABLE, "a server or another copy is running there: stop it");
}

enum err_code copy_guard(struct store *s, int64_t *ret_guard, struct err *err)
{
    bool locked = false;

    if (!store_is_shared(s))
        return E_OK;
    if (try_lock(s, &locked, err) != E_OK ||
        db_number(s->db, SQL_COPY_OWN_PID, ret_guard, err) != E_OK)
        return err->code;
    return locked ? require_no_server(s, err) : is_held(err);
}

enum err_code copy_guard_stands(struct store *s, int64_t guard, struct err *err)
{
    int64_t ours = 0;

    if (!store_is_shared(s))
        return E_OK;
    if (db_number(s->db, SQL_COPY_OWN_PID, &ours, err) != E_OK)
        return err->code;
    return ours == guard ? E_OK
                         : err_set(err, E_UNAVAILABLE, "the connection was lost: begin again");
}

enum err_code copy_guard_target(struct store *to, struct store *from, struct err *err)
{
    bool locked = false;
    int64_t holder = 0;
    int64_t ours = -1;

    if (!store_is_shared(to))
        return E_OK;
    if (try_lock(to, &locked, err) != E_OK)
        return err->code;
    if (locked)
        return require_no_server(to, err);
    if (store_is_shared(from) && (db_number(to->db, SQL_COPY_LOCK_HOLDER, &holder, err) != E_OK ||
                                  db_number(from->db, SQL_COPY_OWN_PID, &ours, err) != E_OK))
        return err->code;
    return holder == ours ? err_set(err, E_CONFLICT, "it is the source: name another")
                          : is_held(err);
}

/* ---- an empty store ---- */

struct queue_judge {
    bool foreign;
    char name[QUEUE_NAME_MAX + 1];
};

static void judge_queue(void *ctx, const struct stored_queue *q)
{
    struct queue_judge *judge = ctx;

    if (judge->foreign || (slice_is(q->name, BUILT_IN_QUEUE) && q->state == QUEUE_UP))
        return;
    judge->foreign = true;
    snprintf(judge->name, sizeof(judge->name), "%.*s", (int)q->name.size, q->name.data);
}

static enum err_code require_no_queues(struct store *s, struct err *err)
{
    struct queue_judge judge = {.foreign = false};
    int64_t definitions = 0;

    if (store_queues_load(s, judge_queue, &judge, err) != E_OK ||
        store_definitions_get(s, &definitions, err) != E_OK)
        return err->code;
    if (judge.foreign)
        return err_set(err, E_CONFLICT, "it is not empty: it has the queue %s; name a new store",
                       judge.name);
    return definitions <= 1 ? E_OK
                            : err_set(err, E_CONFLICT,
                                      "it is not empty: definitions were applied to it; name a new "
                                      "store");
}

enum err_code copy_require_empty(struct store *s, struct err *err)
{
    for (int i = 0; i < SQL_TABLE_COUNT; i++) {
        CLEANUP(copy_walk) struct copy_walk w;
        enum sql read = sql_tables[i].read;

        copy_walk_init(&w, &sql_tables[i]);
        if (read == SQL_COPY_READ_QUEUES || read == SQL_COPY_READ_WORKERS ||
            read == SQL_COPY_READ_QUEUE_LOG || read == SQL_COPY_READ_COUNTS)
            continue; /* a server fills these when it starts on a new store */
        if (copy_walk_next(&w, s->db, err) != E_OK)
            return err->code;
        if (w.n_rows > (read == SQL_COPY_READ_GROUPS ? 1 : 0)) /* a new store has the root */
            return err_set(err, E_CONFLICT,
                           "it is not empty: there are rows in %s; name a new store",
                           sql_tables[i].name);
    }
    return require_no_queues(s, err);
}

/* ---- shared stores only ---- */

enum err_code copy_ids_marks(struct store *s, int64_t *ret_mark, struct err *err)
{
    if (!store_is_shared(s))
        return E_OK;
    return db_number(s->db, SQL_SERVER_IDS_MARKS, ret_mark, err);
}

enum err_code copy_leave_claims(struct store *s, struct err *err)
{
    int64_t floor = 0;

    if (!store_is_shared(s))
        return E_OK;
    if (store_meta_get(s, META_IDS, &floor, err) != E_OK)
        return err->code;
    return db_do(s->db, SQL_COPY_PUT_DEAD_SERVER, err, db_i(floor));
}

enum err_code copy_analyze(struct store *s, struct err *err)
{
    return store_is_shared(s) ? db_rows(s->db, SQL_COPY_ANALYZE, NULL, NULL, err) : E_OK;
}

struct open_emitters {
    VEC(struct stored_emitter) list;
};

static void on_emitter(void *ctx, const struct stored_emitter *m)
{
    struct open_emitters *open = ctx;

    if (m->fate == EMIT_OPEN)
        VEC_PUSH(&open->list, *m);
}

static enum err_code mark_emitter(struct store *s, const struct stored_emitter *m, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct job was;
    bool found = false;

    if (store_job_load(s, m->owner, LOAD_LIVE, &arena, &was, &found, err) != E_OK)
        return err->code;
    if (!found || was.token != m->token || was.emitted == store_is_shared(s))
        return E_OK;
    struct job now = was;

    now.emitted = store_is_shared(s);
    return store_job_update(s, &was, &now, &found, err);
}

enum err_code copy_mark_emitters(struct store *s, struct err *err)
{
    struct open_emitters open = {.list = VEC_INIT};
    enum err_code code = store_emitters_load(s, on_emitter, &open, err);

    for (size_t i = 0; i < open.list.count && code == E_OK; i++)
        code = mark_emitter(s, &open.list.items[i], err);
    VEC_DEINIT(&open.list);
    return code;
}
