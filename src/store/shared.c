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
#include "store/internal.h"
#include "store/meta.h"

enum { OUTCOME_PAUSE_MS = 100 };

/* Who waits to be alone makes all others wait behind itself: it gives up early, lets them pass, and tries again. */
enum { ALONE_PATIENCE_MS = 300, ALONE_PAUSE_MS = 50, ALONE_TRIES = 10 };

/* ---- transactions ---- */

static void take_view(void *ctx, const struct db_row *row)
{
    struct store_view *view = ctx;

    *view = (struct store_view){.now_at = db_col_int(row, 0),
                                .definitions = db_col_null(row, 1) ? 1 : db_col_int(row, 1),
                                .changes = db_col_int(row, 2),
                                .sole = db_col_int(row, 3) != 0};
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
        {.sql = SQL_SERVER_VIEW, .args = me, .n_args = 1, .on_row = take_view, .ctx = ret_view},
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
        if (!db_is_busy(s->db) || tries == ALONE_TRIES)
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
        held_clear(&s->held);
    if ((company == STORE_ALONE ? begin_alone(s, ret_view, err)
                                : begin(s, company, s->patience_ms, ret_view, err)) != E_OK)
        return err->code;
    if (s->sole != ret_view->sole)
        held_clear(&s->held);
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
                   "the other servers have taken this one for dead: it joins them again");
}

bool store_outcome_is_lost(const struct store *s)
{
    return s->outcome_lost;
}

bool store_is_conflict(const struct store *s)
{
    return s->conflict || db_is_conflict(s->db);
}

enum err_code store_give_way(struct store *s, struct err *err)
{
    s->conflict = true;
    return err_set(err, E_UNAVAILABLE, "other servers are given the same keys all the time");
}

bool store_is_busy(const struct store *s)
{
    return db_is_busy(s->db);
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

static void take_fenced(void *ctx, const struct db_row *row)
{
    struct outcome *o = ctx;

    o->known = true;
    o->committed = db_col_int(row, 0) == o->store->batch;
    o->store->incarnation++;
    o->store->batch = 0;
}

/* The incarnation was closed already: by us, when that answer was lost as well, or by whoever has the node now. */
static void take_former(void *ctx, const struct db_row *row)
{
    struct outcome *o = ctx;

    o->known = db_col_int(row, 0) == o->store->incarnation;
    o->committed = o->known && db_col_int(row, 1) == o->store->batch;
    o->store->is_member = false;
}

/* The old backend may still be waiting in front of its signature.  An answer is only true when that backend can
 * not sign any more: the incarnation is closed first. */
static enum err_code ask_outcome(struct store *s, struct outcome *o, struct err *err)
{
    if (db_do_rows(s->db, SQL_SERVER_FENCE, take_fenced, o, err, db_i(s->seat.node),
                   db_i(s->incarnation)) != E_OK ||
        o->known)
        return err->code;
    return db_do_rows(s->db, SQL_SERVER_FORMER, take_former, o, err, db_i(s->seat.node));
}

void store_stop_waiting(struct store *s)
{
    atomic_store(&s->stops, true);
}

/* Asks until the store can say, or the server stops.  Nobody is answered meanwhile, so the log has to tell. */
static void wait_for_outcome(struct store *s, struct outcome *o, const struct err *lost)
{
    struct err again = ERR_INIT;
    bool told = false;

    while (ask_outcome(s, o, &again) != E_OK) {
        if (atomic_load(&s->stops))
            return;
        if (!told)
            log_warn("a commit got no answer (%s): everybody waits until the store can tell "
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

/* Whether the last signature is in the store, for good; waits until the store can say, or the server stops. */
enum err_code shared_outcome(struct store *s, struct err *err)
{
    struct outcome o = {.store = s};

    wait_for_outcome(s, &o, err);
    if (o.known)
        return o.committed ? E_OK : err->code;
    s->outcome_lost = true;
    s->is_member =
        false; /* whoever goes on does so under another incarnation: the commit may still be on its way */
    err_set(err, E_UNAVAILABLE,
            "the connection was lost in a commit, and this server %s: nobody can tell whether it "
            "took effect",
            atomic_load(&s->stops) ? "stops before the store has answered" : "was replaced since");
    log_error("%s", err->msg);
    return err->code;
}

/* ---- membership ---- */

struct seat_taker {
    int64_t node, incarnation, ids_mark;
    bool found;
    bool anothers; /* another process lives under the name */
};

static void take_seat(void *ctx, const struct db_row *row)
{
    struct seat_taker *t = ctx;

    *t = (struct seat_taker){.node = db_col_int(row, 0),
                             .incarnation = db_col_int(row, 1),
                             .ids_mark = db_col_int(row, 2),
                             .found = true};
}

static void take_own_seat(void *ctx, const struct db_row *row)
{
    struct seat_taker *t = ctx;

    take_seat(t, row);
    t->anothers = db_col_int(row, 3) != 0;
}

static enum err_code new_node(struct store *s, struct seat_taker *t, struct err *err)
{
    struct taken_int got = {0};
    struct db_taker taker = {.on_row = take_one_int, .ctx = &got};

    if (db_one(s->db, SQL_SERVER_NEW_NODE, NULL, 0, &taker, err) != E_OK)
        return err->code;
    t->node = got.value;
    if (t->node <= ID_NODE_MAX)
        return E_OK;
    return err_set(err, E_UNAVAILABLE, "the store has %d servers, which is all it can tell apart",
                   ID_NODE_MAX);
}

/* The node it had before, one that nobody has any more, or a new one. */
static enum err_code find_seat(struct store *s, const struct store_member *m, struct seat_taker *t,
                               struct err *err)
{
    struct db_taker taker = {.on_row = take_seat, .ctx = t};

    if (db_do_rows(s->db, SQL_SERVER_BY_NAME, take_own_seat, t, err, db_t(slice_of(m->name)),
                   db_i(m->pid), db_t(slice_of(m->host))) != E_OK)
        return err->code;
    if (t->found && t->anothers && s->incarnation != 0 && t->incarnation != s->incarnation)
        return err_set(err, E_CONFLICT,
                       "another server runs under the name of this one: each needs a data "
                       "directory of its own, with a server-id of its own");
    if (t->found)
        return E_OK;
    if (db_one(s->db, SQL_SERVER_FREE_NODE, NULL, 0, &taker, err) != E_OK)
        return err->code;
    return t->found ? E_OK : new_node(s, t, err);
}

static enum err_code take_the_seat(struct store *s, const struct store_member *m, int64_t alive_us,
                                   struct seat_taker *t, struct err *err)
{
    struct taken_int newest = {0};
    struct db_taker taker = {.on_row = take_one_int, .ctx = &newest};
    struct store_view view;

    if (store_begin_shared(s, STORE_ALONE, &view, err) != E_OK ||
        store_copy_refuse_half(s, err) != E_OK || find_seat(s, m, t, err) != E_OK ||
        store_meta_get(s, META_IDS, &s->seat.ids_floor, err) != E_OK ||
        db_one(s->db, SQL_SERVER_IDS_MARKS, NULL, 0, &taker, err) != E_OK)
        return err->code;
    s->seat.ids_newest = newest.value > s->seat.ids_floor ? newest.value : s->seat.ids_floor;
    return db_do(s->db, SQL_SERVER_JOIN, err, db_i(t->node), db_t(slice_of(m->name)),
                 db_i(t->incarnation + 1), db_i(alive_us), db_t(slice_of(m->host)), db_i(m->pid),
                 db_t(slice_of(m->version)), db_t(slice_of(m->url)));
}

enum err_code store_join(struct store *s, const struct store_member *member, int64_t alive_us,
                         struct store_seat *ret_seat, struct err *err)
{
    struct seat_taker t = {0};

    s->seat = (struct store_seat){0};
    if (take_the_seat(s, member, alive_us, &t, err) != E_OK || db_commit(s->db, err) != E_OK) {
        store_rollback(s);
        return err_wrap(err, "join the servers of the store");
    }
    s->seat.node = (uint32_t)t.node;
    if (t.ids_mark > s->seat.ids_floor)
        s->seat.ids_floor = t.ids_mark;
    s->incarnation = t.incarnation + 1;
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
    /* Whoever misses it finds out when the time of the row has passed. */
    if (db_do(s->db, SQL_SERVER_LEAVE, &ignored, db_i(s->seat.node), db_i(s->incarnation)) !=
            E_OK ||
        store_tell(s, slice_of(news), &ignored) != E_OK)
        return;
}

struct peer_taker {
    store_peer_fn *on_peer;
    void *ctx;
};

static void take_peer(void *ctx, const struct db_row *row)
{
    struct peer_taker *t = ctx;
    struct store_peer peer = {.node = (uint32_t)db_col_int(row, 0),
                              .name = db_col_text(row, 1),
                              .host = db_col_text(row, 2),
                              .version = db_col_text(row, 3),
                              .url = db_col_text(row, 4),
                              .pid = db_col_int(row, 5),
                              .joined_at = db_col_int(row, 6),
                              .alive_until_at = db_col_int(row, 7)};

    t->on_peer(t->ctx, &peer);
}

enum err_code store_servers_list(struct store *s, store_peer_fn *on_peer, void *ctx,
                                 struct err *err)
{
    struct peer_taker t = {on_peer, ctx};
    struct db_taker taker = {.on_row = take_peer, .ctx = &t};

    return db_one(s->db, SQL_SERVER_LIST, NULL, 0, &taker, err);
}

/* ---- what members do for each other ---- */

struct pulse_taker {
    struct store_pulse *pulse;
    struct seen_worker *workers;
    size_t n_workers;
    bool member;
};

/* Those whose numbers are not in the text. */
static void take_said(struct pulse_taker *t, struct slice passed_over)
{
    const char *at = passed_over.data;
    const char *end = at + passed_over.size;

    for (size_t i = 0; i < t->n_workers; i++)
        t->workers[i].is_said = true;
    while (at < end) {
        int64_t id = 0;

        for (; at < end && *at != ' '; at++)
            id = 10 * id + (*at - '0');
        at++;
        for (size_t i = 0; i < t->n_workers; i++)
            if (t->workers[i].id == id)
                t->workers[i].is_said = false;
    }
}

static void take_pulse(void *ctx, const struct db_row *row)
{
    struct pulse_taker *t = ctx;

    t->member = db_col_int(row, 0) == 1;
    *t->pulse = (struct store_pulse){
        .now_at = db_col_int(row, 1),
        .due_at = db_col_null(row, 2) ? TIME_NEVER : db_col_int(row, 2),
        .dead = db_col_int(row, 3) != 0,
        .work = db_col_int(row, 4) != 0,
        .unsettled = db_col_int(row, 5) != 0,
        .ready = db_col_int(row, 6) != 0,
        .changes = db_col_int(row, 7),
        .releases = db_col_int(row, 8) != 0,
        .others_until_at = db_col_null(row, 9) ? TIME_NEVER : db_col_int(row, 9),
        .revivals = db_col_int(row, 10) != 0,
        .fanouts = db_col_int(row, 11) != 0,
    };
    take_said(t, db_col_text(row, 12));
}

enum err_code store_beat(struct store *s, int64_t alive_us, struct seen_worker *workers,
                         size_t n_workers, struct store_pulse *ret_pulse, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct db_value *values = arena_array(&arena, 2 * n_workers + 1, sizeof(*values));
    struct db_rows seen = {values, n_workers, 2};
    struct pulse_taker t = {.pulse = ret_pulse, .workers = workers, .n_workers = n_workers};

    for (size_t i = 0; i < n_workers; i++) {
        values[2 * i] = db_i(workers[i].id);
        values[2 * i + 1] = db_i(workers[i].at);
    }
    if (db_do_rows(s->db, SQL_SERVER_BEAT, take_pulse, &t, err, db_i(s->seat.node),
                   db_i(s->incarnation), db_i(alive_us), db_r(&seen)) != E_OK)
        return err->code;
    s->is_member = t.member;
    return E_OK;
}

struct node_taker {
    int64_t nodes[ID_NODE_MAX + 1];
    size_t n;
    struct buf *names;
};

static void take_node(void *ctx, const struct db_row *row)
{
    struct node_taker *t = ctx;

    t->nodes[t->n++] = db_col_int(row, 0);
    if (t->names->size > 0)
        buf_add_str(t->names, ", ");
    buf_add_slice(t->names, db_col_text(row, 1));
}

static enum err_code adopt_from(struct store *s, int64_t node, int64_t *claims, struct err *err)
{
    const struct db_value args[] = {db_i(s->seat.node), db_i(node)};
    struct db_taker taker = {0};

    if (db_one(s->db, SQL_SERVER_TAKE_CLAIMS, args, ARRAY_LEN(args), &taker, err) != E_OK)
        return err->code;
    *claims += taker.changed;
    return db_do(s->db, SQL_SERVER_BURY, err, db_i(node));
}

enum err_code store_adopt(struct store *s, int64_t *ret_claims, struct buf *names, struct err *err)
{
    struct node_taker dead = {.names = names};

    *ret_claims = 0;
    if (db_do_rows(s->db, SQL_SERVER_DEAD, take_node, &dead, err, db_i(s->seat.node)) != E_OK)
        return err->code;
    for (size_t i = 0; i < dead.n; i++)
        if (adopt_from(s, dead.nodes[i], ret_claims, err) != E_OK)
            return err->code;
    return E_OK;
}

enum err_code store_queues_changed(struct store *s, int64_t *ret_changes, struct err *err)
{
    struct taken_int got = {0};
    struct db_taker taker = {.on_row = take_one_int, .ctx = &got};

    if (db_one(s->db, SQL_SERVER_CHANGED, NULL, 0, &taker, err) != E_OK)
        return err->code;
    *ret_changes = got.value;
    return E_OK;
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
    /* Twice among the living: it may have come back from the ended while we waited for it there. */
    struct db_call calls[] = {{.sql = SQL_JOB_LOCK, .args = args, .n_args = 1},
                              {.sql = SQL_ENDED_LOCK, .args = args, .n_args = 1},
                              {.sql = SQL_JOB_LOCK, .args = args, .n_args = 1}};

    return db_run(s->db, calls, ARRAY_LEN(calls), err);
}
