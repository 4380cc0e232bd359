/* SPDX-License-Identifier: MIT */
#include "store/shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/os/log.h"
#include "store/copy/copy.h"
#include "store/db/columns.h"
#include "store/internal.h"
#include "store/meta.h"

enum { OUTCOME_PAUSE_MS = 100 };

/* A server that waits for exclusive access blocks all others behind it: it gives up early, lets
 * them pass, and tries again. */
enum { ALONE_PATIENCE_MS = 300, ALONE_PAUSE_MS = 50, ALONE_TRIES = 10 };

/* ---- transactions ---- */

static const struct db_column view_columns[] = {
    DB_NUMBER(store_view, now_at),
    DB_NUMBER(store_view, definitions, .if_null = 1),
    DB_NUMBER(store_view, changes),
    DB_NUMBER(store_view, sole),
};
static const struct db_table view_table = DB_TABLE("view", store_view, view_columns);

static void on_view(void *ctx, const struct db_row *row)
{
    (void)db_row_read(row, &view_table, NULL, ctx);
}

static enum err_code begin(struct store *s, enum store_company company, int patience_ms,
                           struct store_view *ret_view, struct err *err)
{
    char patience[24];
    int length = snprintf(patience, sizeof(patience), "%d", patience_ms);
    const struct db_value me[] = {db_i(s->seat.node)};
    const struct db_value limit[] = {db_t(slice_make(patience, (size_t)length))};
    struct db_call calls[] = {
        {.sql = SQL_SERVER_PATIENCE, .args = limit, .n_args = 1},
        {.sql = company == STORE_ALONE ? SQL_SERVER_LOCK_ALONE : SQL_SERVER_LOCK_BESIDE},
        {.sql = SQL_SERVER_VIEW, .args = me, .n_args = 1, .on_row = on_view, .ctx = ret_view},
    };
    size_t first = patience_ms == 0 ? 1 : 0;
    int64_t asked_at = clock_mono_us();

    if (store_begin(s, err) != E_OK ||
        db_run(s->db, calls + first, ARRAY_LEN(calls) - first, err) != E_OK)
        return err->code;
    s->round_us = clock_mono_us() - asked_at;
    return E_OK;
}

static enum err_code begin_alone(struct store *s, struct store_view *ret_view, struct err *err)
{
    for (int tries = 1; begin(s, STORE_ALONE, ALONE_PATIENCE_MS, ret_view, err) != E_OK; tries++) {
        if (!s->db->busy || tries == ALONE_TRIES)
            return err->code;
        *err = ERR_INIT;
        store_rollback(s);
        (void)usleep(ALONE_PAUSE_MS * 1000);
    }
    return E_OK;
}

enum err_code store_begin_shared(struct store *s, enum store_company company,
                                 struct store_view *ret_view, struct err *err)
{
    *ret_view = (struct store_view){0};
    s->conflict = s->outcome_lost = false;
    if (!s->sole)
        ready_cache_clear(&s->ready_cache);
    if ((company == STORE_ALONE ? begin_alone(s, ret_view, err)
                                : begin(s, company, s->patience_ms, ret_view, err)) != E_OK)
        return err->code;
    if (s->sole != ret_view->sole)
        ready_cache_clear(&s->ready_cache);
    s->sole = ret_view->sole;
    return E_OK;
}

enum err_code store_sign(struct store *s, int64_t alive_us, int64_t ids_mark, struct err *err)
{
    s->batch++;
    return db_do(s->db, SQL_SERVER_SIGN, err, db_i(s->seat.node), db_i(s->incarnation),
                 db_i(s->batch), db_i(ids_mark), db_i(alive_us));
}

enum err_code shared_refused(struct store *s, struct err *err)
{
    s->is_member = false;
    return err_set(err, E_UNAVAILABLE,
                   "the other servers have declared this one dead: it joins again");
}

bool store_outcome_is_lost(const struct store *s)
{
    return s->outcome_lost;
}

bool store_is_conflict(const struct store *s)
{
    return s->conflict || s->db->conflict;
}

enum err_code store_give_way(struct store *s, struct err *err)
{
    s->conflict = true;
    return err_set(err, E_UNAVAILABLE, "other servers add the same keys at the same time");
}

bool store_is_busy(const struct store *s)
{
    return s->db->busy;
}

void store_set_patience(struct store *s, int patience_ms)
{
    s->patience_ms = patience_ms;
}

int64_t store_round_us(const struct store *s)
{
    return s->round_us;
}

struct outcome {
    struct store *store;
    bool known;
    bool committed;
};

static void on_fenced_row(void *ctx, const struct db_row *row)
{
    struct outcome *o = ctx;

    o->known = true;
    o->committed = db_col_int(row, 0) == o->store->batch;
    o->store->incarnation++;
    o->store->batch = 0;
}

/* The incarnation is closed already: by this server, if that answer was lost too, or by the next
 * server on the node. */
static void on_former_row(void *ctx, const struct db_row *row)
{
    struct outcome *o = ctx;

    o->known = db_col_int(row, 0) == o->store->incarnation;
    o->committed = o->known && db_col_int(row, 1) == o->store->batch;
    o->store->is_member = false;
}

/* The old backend may still wait before its signature.  The answer is final only when that backend
 * can no longer sign, so the incarnation is closed first. */
static enum err_code ask_outcome(struct store *s, struct outcome *o, struct err *err)
{
    if (db_rows(s->db, SQL_SERVER_FENCE, on_fenced_row, o, err, db_i(s->seat.node),
                db_i(s->incarnation)) != E_OK ||
        o->known)
        return err->code;
    return db_rows(s->db, SQL_SERVER_FORMER, on_former_row, o, err, db_i(s->seat.node));
}

void store_stop_waiting(struct store *s)
{
    atomic_store(&s->stops, true);
}

/* Asks until the store can say, or the server stops.  Nobody is answered meanwhile, so the log has
 * to tell. */
static void wait_for_outcome(struct store *s, struct outcome *o, const struct err *lost)
{
    struct err again = ERR_INIT;
    bool told = false;

    while (ask_outcome(s, o, &again) != E_OK) {
        if (atomic_load(&s->stops))
            return;
        if (!told)
            log_warn("a commit got no answer (%s): all requests wait until the store can tell "
                     "whether it took effect",
                     lost->msg);
        told = true;
        again = ERR_INIT;
        (void)usleep(OUTCOME_PAUSE_MS * 1000);
    }
    if (told && o->known)
        log_warn("the commit that got no answer %s",
                 o->committed ? "took effect" : "did not take effect");
}

/* Whether the last signature is in the store, for good; waits until the store can say, or the
 * server stops. */
enum err_code shared_outcome(struct store *s, struct err *err)
{
    struct outcome o = {.store = s};

    wait_for_outcome(s, &o, err);
    if (o.known)
        return o.committed ? E_OK : err->code;
    s->outcome_lost = true;
    s->is_member = false; /* whoever goes on does so under another incarnation: the commit may still
                             be on its way */
    err_set(err, E_UNAVAILABLE,
            "the connection was lost in a commit, and this server %s: nobody can tell whether it "
            "took effect",
            atomic_load(&s->stops) ? "stops before the store has answered" : "was replaced since");
    log_error("%s", err->msg);
    return err->code;
}

/* ---- membership ---- */

struct seat {
    int64_t node, incarnation, ids_mark;
    bool anothers; /* a live process other than this one has the name */
};

static const struct db_column seat_columns[] = {
    DB_NUMBER(seat, node),
    DB_NUMBER(seat, incarnation),
    DB_NUMBER(seat, ids_mark),
    DB_NUMBER(seat, anothers),
};
static const struct db_table seat_table = DB_TABLE("server", seat, seat_columns);

/* The node it had before, a free one, or a new one. */
static enum err_code find_seat(struct store *s, const struct store_member *m, struct seat *seat,
                               struct err *err)
{
    if (db_find(s->db, SQL_SERVER_BY_NAME, &seat_table, NULL, seat, err, db_t(slice_of(m->name)),
                db_i(m->pid), db_t(slice_of(m->host))) != E_OK)
        return err->code;
    if (seat->anothers && s->incarnation != 0 && seat->incarnation != s->incarnation)
        return err_set(err, E_CONFLICT,
                       "another server runs under the same name: each server needs its own data "
                       "directory with its own server-id");
    if (seat->incarnation != 0)
        return E_OK;
    if (db_find(s->db, SQL_SERVER_FREE_NODE, &seat_table, NULL, seat, err) != E_OK)
        return err->code;
    if (seat->incarnation != 0)
        return E_OK;
    if (db_number(s->db, SQL_SERVER_NEW_NODE, &seat->node, err) != E_OK)
        return err->code;
    if (seat->node <= ID_NODE_MAX)
        return E_OK;
    return err_set(err, E_UNAVAILABLE, "the store has had %d servers, the maximum", ID_NODE_MAX);
}

static enum err_code take_seat(struct store *s, const struct store_member *m, int64_t alive_us,
                               struct seat *seat, struct err *err)
{
    int64_t newest = 0;
    struct store_view view;

    if (store_begin_shared(s, STORE_ALONE, &view, err) != E_OK ||
        store_copy_refuse_half(s, err) != E_OK || find_seat(s, m, seat, err) != E_OK ||
        store_meta_get(s, META_IDS, &s->seat.ids_floor, err) != E_OK ||
        db_number(s->db, SQL_SERVER_IDS_MARKS, &newest, err) != E_OK)
        return err->code;
    s->seat.ids_newest = newest > s->seat.ids_floor ? newest : s->seat.ids_floor;
    return db_do(s->db, SQL_SERVER_JOIN, err, db_i(seat->node), db_t(slice_of(m->name)),
                 db_i(seat->incarnation + 1), db_i(alive_us), db_t(slice_of(m->host)), db_i(m->pid),
                 db_t(slice_of(m->version)), db_t(slice_of(m->url)));
}

enum err_code store_join(struct store *s, const struct store_member *member, int64_t alive_us,
                         struct store_seat *ret_seat, struct err *err)
{
    struct seat seat = {0};

    s->seat = (struct store_seat){0};
    if (take_seat(s, member, alive_us, &seat, err) != E_OK ||
        db_commit(s->db, DB_SYNC_NOW, err) != E_OK) {
        store_rollback(s);
        return err_wrap(err, "join the servers of the store");
    }
    s->seat.node = (uint32_t)seat.node;
    if (seat.ids_mark > s->seat.ids_floor)
        s->seat.ids_floor = seat.ids_mark;
    s->incarnation = seat.incarnation + 1;
    s->batch = 0;
    s->is_member = true;
    *ret_seat = s->seat;
    return E_OK;
}

void store_unseat(struct store *s)
{
    s->is_member = false;
}

bool store_is_member(const struct store *s)
{
    return s->is_member;
}

void store_leave(struct store *s)
{
    struct err ignored = ERR_INIT;
    char news[16];

    if (!s->is_member)
        return;
    s->is_member = false;
    snprintf(news, sizeof(news), "%u x", (unsigned)s->seat.node);
    /* A server that misses the news notices when the time of the row has passed. */
    if (db_do(s->db, SQL_SERVER_LEAVE, &ignored, db_i(s->seat.node), db_i(s->incarnation)) !=
            E_OK ||
        store_tell(s, slice_of(news), &ignored) != E_OK)
        return;
}

static const struct db_column peer_columns[] = {
    DB_NUMBER(store_peer, node),
    DB_VALUE(DB_COLUMN_TEXT, store_peer, name),
    DB_VALUE(DB_COLUMN_TEXT, store_peer, host),
    DB_VALUE(DB_COLUMN_TEXT, store_peer, version),
    DB_VALUE(DB_COLUMN_TEXT, store_peer, url),
    DB_NUMBER(store_peer, pid),
    DB_NUMBER(store_peer, joined_at),
    DB_NUMBER(store_peer, alive_until_at),
};
static const struct db_table peer_table = DB_TABLE("server", store_peer, peer_columns);

DB_EACH_FN(each_peer, store_peer, peer_table)

enum err_code store_servers_list(struct store *s, store_peer_fn *on_peer, void *ctx,
                                 struct err *err)
{
    return each_peer(s->db, SQL_SERVER_LIST, DB_ARGS(), on_peer, ctx, err);
}

/* ---- what members do for each other ---- */

/* The answer to a beat. */
struct beat_row {
    bool member;
    struct store_pulse pulse;
    struct slice skipped; /* numbers of workers whose rows another server has locked */
};

static const struct db_column beat_columns[] = {
    DB_NUMBER(beat_row, member),
    DB_NUMBER(beat_row, pulse.now_at),
    DB_NUMBER(beat_row, pulse.due_at, .if_null = TIME_NEVER),
    DB_NUMBER(beat_row, pulse.dead),
    DB_NUMBER(beat_row, pulse.work),
    DB_NUMBER(beat_row, pulse.unsettled),
    DB_NUMBER(beat_row, pulse.ready),
    DB_NUMBER(beat_row, pulse.changes),
    DB_NUMBER(beat_row, pulse.releases),
    DB_NUMBER(beat_row, pulse.others_until_at, .if_null = TIME_NEVER),
    DB_NUMBER(beat_row, pulse.revivals),
    DB_NUMBER(beat_row, pulse.fanouts),
    DB_NUMBER(beat_row, pulse.clock_at, .if_null = TIME_NEVER),
    DB_VALUE(DB_COLUMN_TEXT, beat_row, skipped),
};
static const struct db_table beat_table = DB_TABLE("beat", beat_row, beat_columns);

/* All workers were written, except those whose numbers are in the text. */
static void mark_said(struct seen_worker *workers, size_t n, struct slice skipped)
{
    const char *at = skipped.data;
    const char *end = at + skipped.size;

    for (size_t i = 0; i < n; i++)
        workers[i].is_said = true;
    while (at < end) {
        int64_t id = 0;

        for (; at < end && *at != ' '; at++)
            id = 10 * id + (*at - '0');
        at++;
        for (size_t i = 0; i < n; i++)
            if (workers[i].id == id)
                workers[i].is_said = false;
    }
}

enum err_code store_beat(struct store *s, int64_t alive_us, struct seen_worker *workers,
                         size_t n_workers, struct store_pulse *ret_pulse, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct db_value *values = arena_array(&arena, 2 * n_workers + 1, sizeof(*values));
    struct db_rows seen = {values, n_workers, 2};
    struct beat_row beat;

    for (size_t i = 0; i < n_workers; i++) {
        values[2 * i] = db_i(workers[i].id);
        values[2 * i + 1] = db_i(workers[i].at);
    }
    if (db_find(s->db, SQL_SERVER_BEAT, &beat_table, &arena, &beat, err, db_i(s->seat.node),
                db_i(s->incarnation), db_i(alive_us), db_r(&seen)) != E_OK)
        return err->code;
    s->is_member = beat.member;
    *ret_pulse = beat.pulse;
    mark_said(workers, n_workers, beat.skipped);
    return E_OK;
}

static const struct db_column dead_columns[] = {
    DB_NUMBER(store_peer, node),
    DB_VALUE(DB_COLUMN_TEXT, store_peer, url),
};
static const struct db_table dead_table = DB_TABLE("server", store_peer, dead_columns);

enum err_code store_adopt(struct store *s, int64_t *ret_claims, struct buf *names, struct err *err)
{
    CLEANUP(db_list) struct db_list list = {.table = &dead_table};

    *ret_claims = 0;
    if (db_each(s->db, SQL_SERVER_DEAD, &list, err, db_i(s->seat.node)) != E_OK)
        return err->code;
    const struct store_peer *dead = list.items;

    for (size_t i = 0; i < list.n; i++) {
        int64_t claims = 0;

        if (db_change(s->db, SQL_SERVER_TAKE_CLAIMS, &claims, err, db_i(s->seat.node),
                      db_i(dead[i].node)) != E_OK ||
            db_do(s->db, SQL_SERVER_BURY, err, db_i(dead[i].node)) != E_OK)
            return err->code;
        *ret_claims += claims;
        if (names->size > 0)
            buf_add_str(names, ", ");
        buf_add_slice(names, dead[i].url);
    }
    return E_OK;
}

enum err_code store_queues_changed(struct store *s, int64_t *ret_changes, struct err *err)
{
    return db_number(s->db, SQL_SERVER_CHANGED, ret_changes, err);
}

/* ---- news, locks ---- */

enum err_code store_tell(struct store *s, struct slice news, struct err *err)
{
    ASSERT(news.size <= STORE_NEWS_MAX);
    return db_do(s->db, SQL_SERVER_TELL, err, db_t(news));
}

enum err_code store_job_lock(struct store *s, int64_t id, struct err *err)
{
    const struct db_value args[] = {db_i(id)};
    /* Live jobs twice: the job may have been revived while we waited for the lock in `ended`. */
    struct db_call calls[] = {{.sql = SQL_JOB_LOCK, .args = args, .n_args = 1},
                              {.sql = SQL_ENDED_LOCK, .args = args, .n_args = 1},
                              {.sql = SQL_JOB_LOCK, .args = args, .n_args = 1}};

    return db_run(s->db, calls, ARRAY_LEN(calls), err);
}
