/* SPDX-License-Identifier: MIT */
#include "store/links/fanout.h"

#include <endian.h>
#include <string.h>

#include "store/internal.h"
#include "store/jobs/rows.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "ids are kept as little endian bytes");
_Static_assert(sizeof(struct spread_target) == 16, "targets are kept as they are");

/* ---- publications ---- */

enum { KIND_PUBLISHED, KIND_CHAINED, KIND_FIRED }; /* `chained`, as it is stored */

static int kind_of(const struct stored_spread *spread)
{
    return spread->fired ? KIND_FIRED : spread->chained ? KIND_CHAINED : KIND_PUBLISHED;
}

enum err_code store_spread_add(struct store *s, const struct stored_spread *spread, struct err *err)
{
    struct slice targets = slice_make((const char *)spread->targets,
                                      spread->n_targets * sizeof(*spread->targets));

    if (db_do(s->db, SQL_SHARED_ADD, err, db_i(spread->id), db_t(spread->params),
              db_b(spread->body)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_SPREAD_ADD, err, db_i(spread->id), db_t(spread->key),
                 db_i(spread->fired ? spread->cause_queue : (int64_t)spread->content),
                 db_i(kind_of(spread)), db_i(spread->priority), db_t(spread->labels),
                 db_t(spread->bill), db_b(targets), db_i((int64_t)spread->place));
}

struct spread_taker {
    struct stored_spread spread;
    struct arena *arena;
};

/* Blobs of SQLite are not aligned: the targets are copied. */
static void take_targets(struct spread_taker *t, const struct db_row *row, struct slice bytes)
{
    size_t n = bytes.size / sizeof(struct spread_target);
    struct spread_target *targets = arena_array(t->arena, n + 1, sizeof(*targets));

    if (n > 0)
        memcpy(targets, bytes.data, n * sizeof(*targets));
    t->spread.targets = targets;
    t->spread.n_targets = n;
    if (n == 0 || bytes.size % sizeof(*targets) != 0 || t->spread.place >= n)
        db_row_refuse(row, "publication %lld has %zu targets and is at %zu",
                      (long long)t->spread.id, n, t->spread.place);
}

static void take_spread(void *ctx, const struct db_row *row)
{
    struct spread_taker *t = ctx;

    t->spread = (struct stored_spread){
        .id = db_col_int(row, 0),
        .key = copy_text(db_col_text(row, 1), t->arena),
        .content = (uint64_t)db_col_int(row, 2),
        .chained = db_col_int(row, 3) == KIND_CHAINED,
        .fired = db_col_int(row, 3) == KIND_FIRED,
        .cause_queue = db_col_int(row, 2),
        .priority = (int)db_col_int(row, 4),
        .labels = take_json(row, 5, "labels", t->arena),
        .bill = take_json(row, 6, "bill", t->arena),
        .place = (size_t)db_col_int(row, 8),
        .params = take_json(row, 9, "params", t->arena),
        .body = copy_text(db_col_blob(row, 10), t->arena),
    };
    take_targets(t, row, db_col_blob(row, 7));
    if (db_col_null(row, 11))
        db_row_refuse(row, "what publication %lld brings is not there", (long long)t->spread.id);
}

enum err_code store_spread_next(struct store *s, int64_t above, struct arena *arena,
                                struct stored_spread *ret, struct err *err)
{
    struct spread_taker t = {.arena = arena};

    if (db_do_rows(s->db, SQL_SPREAD_NEXT, take_spread, &t, err, db_i(above)) != E_OK) {
        ret->id = t.spread.id;
        return err->code;
    }
    *ret = t.spread;
    return E_OK;
}

enum err_code store_spread_of_key(struct store *s, struct slice key, struct arena *arena,
                                  struct stored_spread *ret, struct err *err)
{
    struct spread_taker t = {.arena = arena};

    if (db_do_rows(s->db, SQL_SPREAD_OF_KEY, take_spread, &t, err, db_t(key)) != E_OK)
        return err->code;
    *ret = t.spread;
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
    struct db_taker taker = {.on_row = count_targets, .ctx = &t};

    if (db_one(s->db, SQL_SPREAD_TARGETS, NULL, 0, &taker, err) != E_OK)
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

struct follow_taker {
    struct stored_follow follow;
    struct arena *arena;
};

static void take_follow(void *ctx, const struct db_row *row)
{
    struct follow_taker *t = ctx;
    struct stored_follow f = {
        .id = db_col_int(row, 0),
        .job = db_col_int(row, 1),
        .queue = db_col_int(row, 2),
        .state = (enum job_state)db_col_int(row, 3),
        .step = (int)db_col_int(row, 4),
        .whole = db_col_int(row, 5) != 0,
        .dests = copy_text(db_col_text(row, 6), t->arena),
        .place = (size_t)db_col_int(row, 7),
    };

    if ((f.state != JOB_DONE && f.state != JOB_FAILED) || db_col_int(row, 7) < 0)
        db_row_refuse(row, "the end of job %lld leads nowhere", (long long)f.job);
    t->follow = f;
}

enum err_code store_follow_next(struct store *s, int64_t above, struct arena *arena,
                                struct stored_follow *ret, struct err *err)
{
    struct follow_taker t = {.arena = arena};

    if (db_do_rows(s->db, SQL_FOLLOW_NEXT, take_follow, &t, err, db_i(above)) != E_OK) {
        ret->id = t.follow.id;
        return err->code;
    }
    *ret = t.follow;
    return E_OK;
}

enum err_code store_follow_has(struct store *s, int64_t job, bool *ret_has, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_FOLLOW_OF_JOB, take_one_int, &got, err, db_i(job)) != E_OK)
        return err->code;
    *ret_has = got.found;
    return E_OK;
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
    struct taken_int got = {0};
    struct db_taker taker = {.on_row = take_one_int, .ctx = &got};

    if (db_one(s->db, SQL_FANOUT_ANY, NULL, 0, &taker, err) != E_OK)
        return err->code;
    *ret_any = got.found;
    return E_OK;
}
