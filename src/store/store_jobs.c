/* SPDX-License-Identifier: MIT */
#include "store/store_jobs.h"

#include "base/clock.h"
#include "store/store_internal.h"
#include "store/store_rows.h"

/* ---- rows ---- */

/* What was never filled holds the id as a stand-in: see the schema. */
static int64_t unless_stand_in(int64_t value, int64_t id)
{
    return value == id ? 0 : value;
}

static struct slice keep(struct slice s, struct arena *arena)
{
    return arena == NULL || s.data == NULL ? s : arena_copy(arena, s);
}

void job_from_row(const struct db_row *row, struct arena *arena, struct job *ret_job)
{
    int64_t id = db_col_int(row, 0);

    *ret_job = (struct job){
        .id = {id},
        .queue = db_col_int(row, 1),
        .state = (enum job_state)db_col_int(row, 2),
        .priority = (int)db_col_int(row, 3),
        .holds = (unsigned)db_col_int(row, 4),
        .cancelling = db_col_int(row, 5) != 0,
        .due_at = db_col_int(row, 6),
        .started_at = unless_stand_in(db_col_int(row, 7), id),
        .finished_at = db_col_int(row, 8),
        .lease_until_at = unless_stand_in(db_col_int(row, 9), id),
        .token = db_col_int(row, 10),
        .prev_token = db_col_int(row, 11),
        .outcome = (enum job_outcome)db_col_int(row, 12),
        .attempt = (int)db_col_int(row, 13),
        .failures = (int)db_col_int(row, 14),
        .lost = (int)db_col_int(row, 15),
        .laters = (int)db_col_int(row, 16),
        .worker = db_col_int(row, 17),
        .exited = !db_col_null(row, 18),
        .exit = (int)db_col_int(row, 18),
        .cause = (enum job_cause)db_col_int(row, 19),
        .done = db_col_int(row, 20),
        .total = db_col_int(row, 21),
        .key = keep(db_col_text(row, 22), arena),
        .params = keep(db_col_text(row, 23), arena),
        .body = keep(db_col_blob(row, 24), arena),
        .labels = keep(db_col_text(row, 25), arena),
        .options = keep(db_col_text(row, 26), arena),
        .text = keep(db_col_text(row, 27), arena),
        .result = keep(db_col_text(row, 28), arena),
    };
}

struct job_taker {
    struct job *job;
    struct arena *arena;
    bool found;
};

static void take_job(void *ctx, const struct db_row *row)
{
    struct job_taker *t = ctx;

    job_from_row(row, t->arena, t->job);
    t->found = true;
}

static struct db_value exit_value(const struct job *j)
{
    return j->exited ? db_i(j->exit) : (struct db_value){.type = DB_NULL};
}

/* ---- loading and making ---- */

enum err_code store_jobs_insert(struct store *s, const struct job *jobs, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct job *j = &jobs[i];

        if (db_do(s->db, SQL_JOB_INSERT, err, db_i(j->id.v), db_i(j->queue), db_i(j->state),
                  db_i(j->priority), db_i(j->due_at), db_t(j->key), db_t(j->params), db_b(j->body),
                  db_t(j->labels), db_t(j->options)) != E_OK)
            return err->code;
    }
    return E_OK;
}

enum err_code store_job_load(struct store *s, int64_t id, struct arena *arena, struct job *ret_job,
                             bool *ret_found, struct err *err)
{
    struct job_taker t = {.job = ret_job, .arena = arena};

    if (db_do_rows(s->db, SQL_JOB_LOAD, take_job, &t, err, db_i(id)) != E_OK)
        return err->code;
    if (!t.found && db_do_rows(s->db, SQL_ENDED_LOAD, take_job, &t, err, db_i(id)) != E_OK)
        return err->code;
    *ret_found = t.found;
    return E_OK;
}

enum err_code store_job_brief(struct store *s, int64_t id, struct arena *arena, struct job *ret_job,
                              bool *ret_found, struct err *err)
{
    struct job_taker t = {.job = ret_job, .arena = arena};

    if (db_do_rows(s->db, SQL_JOB_BRIEF, take_job, &t, err, db_i(id)) != E_OK)
        return err->code;
    *ret_found = t.found;
    return E_OK;
}

/* ---- moving ---- */

static void take_claimed(void *ctx, const struct db_row *row)
{
    struct job_taker *t = ctx;
    struct job *j = t->job;

    t->found = true;
    j->queue = db_col_int(row, 0);
    j->attempt = (int)db_col_int(row, 1);
    j->priority = (int)db_col_int(row, 2);
    j->key = keep(db_col_text(row, 3), t->arena);
    j->params = keep(db_col_text(row, 4), t->arena);
    j->body = keep(db_col_blob(row, 5), t->arena);
    j->labels = keep(db_col_text(row, 6), t->arena);
    j->options = keep(db_col_text(row, 7), t->arena);
}

enum err_code store_jobs_claim(struct store *s, const struct store_claim *claim, struct job *jobs,
                               size_t n, struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct job *j = &jobs[i];
        struct job_taker t = {.job = j, .arena = arena};

        if (db_do_rows(s->db, SQL_JOB_CLAIM, take_claimed, &t, err, db_i(j->id.v), db_i(claim->token),
                       db_i(claim->now_at), db_i(claim->until_at), db_i(claim->worker)) != E_OK)
            return err->code;
        j->state = t.found ? JOB_RUNNING : JOB_NONE;
        j->token = claim->token;
        j->started_at = claim->now_at;
        j->lease_until_at = claim->until_at;
        j->worker = claim->worker;
    }
    return E_OK;
}

/* Runs a guarded statement and says whether it hit its row. */
static enum err_code run_guarded(struct store *s, enum sql sql, const struct db_value *args,
                                 size_t n_args, bool *ret_hit, struct err *err)
{
    struct db_taker taker = {0};

    if (db_one(s->db, sql, args, n_args, &taker, err) != E_OK)
        return err->code;
    *ret_hit = taker.changed == 1;
    return E_OK;
}

enum err_code store_job_update(struct store *s, const struct job *was, const struct job *now,
                               bool *ret_hit, struct err *err)
{
    const struct db_value args[] = {
        db_i(was->id.v),      db_i(was->state),       db_i(was->token),
        db_i(now->queue),     db_i(now->state),       db_i(now->priority),
        db_i(now->holds),     db_i(now->cancelling),  db_i(now->due_at),
        db_i(now->finished_at), db_i(now->lease_until_at), db_i(now->outcome),
        db_i(now->attempt),   db_i(now->failures),    db_i(now->lost),
        db_i(now->laters),    exit_value(now),        db_i(now->cause),
        db_i(now->done),      db_i(now->total),       db_t(now->params),
        db_t(now->labels),    db_t(now->text),
    };

    return run_guarded(s, SQL_JOB_UPDATE, args, ARRAY_LEN(args), ret_hit, err);
}

enum err_code store_job_step(struct store *s, const struct job *was, const struct job *now, bool *ret_hit,
                             struct err *err)
{
    const struct db_value args[] = {
        db_i(was->id.v),        db_i(was->state),   db_i(was->token),    db_i(now->state),
        db_i(now->due_at),      db_i(now->finished_at), db_i(now->outcome), db_i(now->attempt),
        db_i(now->failures),    db_i(now->lost),    db_i(now->laters),   exit_value(now),
        db_i(now->cause),       db_t(now->text),
    };

    return run_guarded(s, SQL_JOB_STEP, args, ARRAY_LEN(args), ret_hit, err);
}

enum err_code store_job_end(struct store *s, const struct job *was, const struct job *now, bool *ret_hit,
                            struct err *err)
{
    const struct db_value args[] = {
        db_i(was->id.v),        db_i(was->state),    db_i(was->token),  db_i(now->state),
        db_i(now->finished_at), db_i(now->outcome),  db_i(now->failures), db_i(now->lost),
        db_i(now->laters),      exit_value(now),     db_i(now->cause),  db_t(now->text),
        db_t(now->result),
    };

    if (run_guarded(s, SQL_JOB_END, args, ARRAY_LEN(args), ret_hit, err) != E_OK)
        return err->code;
    return *ret_hit ? db_do(s->db, SQL_JOB_REMOVE, err, db_i(was->id.v)) : E_OK;
}

enum err_code store_job_revive(struct store *s, const struct job *ended, struct slice params,
                               struct err *err)
{
    if (db_do(s->db, SQL_JOB_REVIVE, err, db_i(ended->id.v), db_t(params)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_ENDED_REMOVE, err, db_i(ended->id.v));
}

enum err_code store_job_remove(struct store *s, const struct job *j, struct err *err)
{
    int64_t id = j->id.v;
    enum sql sql = job_state_ended(j->state) ? SQL_ENDED_REMOVE : SQL_JOB_REMOVE;

    if (db_do(s->db, sql, err, db_i(id)) != E_OK ||
        db_do(s->db, SQL_PROGRESS_REMOVE, err, db_i(id)) != E_OK ||
        db_do(s->db, SQL_LOG_REMOVE, err, db_i(id)) != E_OK)
        return err->code;
    return j->key.size > 0 ? db_do(s->db, SQL_KEY_REMOVE, err, db_t(j->key)) : E_OK;
}

enum err_code store_job_touch(struct store *s, int64_t id, int64_t token, int64_t until_at,
                              const struct touch_status *status, enum touch_result *ret_result,
                              struct err *err)
{
    const struct db_value none = {.type = DB_NULL};
    const struct db_value args[] = {
        db_i(id),
        db_i(token),
        db_i(until_at),
        status->has_text ? (struct db_value){.type = DB_TEXT, .s = status->text} : none,
        status->has_done ? db_i(status->done) : none,
        status->has_done ? db_i(status->total) : none,
    };
    bool plain = !status->has_text && !status->has_done;
    struct taken_int cancelling = {0};
    struct db_taker taker = {.on_row = take_one_int, .ctx = &cancelling};

    if (db_one(s->db, plain ? SQL_JOB_TOUCH : SQL_JOB_TOUCH_STATUS, args, plain ? 3 : ARRAY_LEN(args),
               &taker, err) != E_OK)
        return err->code;
    *ret_result = !cancelling.found         ? TOUCH_LOST
                  : cancelling.value != 0 ? TOUCH_CANCELLING
                                          : TOUCH_HELD;
    return E_OK;
}

/* ---- scans ---- */

struct ref_taker {
    struct ready_ref *refs;
    size_t n;
};

static void take_ref(void *ctx, const struct db_row *row)
{
    struct ref_taker *t = ctx;

    t->refs[t->n++] = (struct ready_ref){(int)db_col_int(row, 0), db_col_int(row, 1)};
}

enum err_code store_ready_scan(struct store *s, int64_t queue, struct ready_ref from,
                               struct ready_ref *refs, size_t limit, size_t *ret_n, struct err *err)
{
    struct ref_taker t = {.refs = refs};

    if (db_do_rows(s->db, SQL_READY_SCAN, take_ref, &t, err, db_i(queue), db_i(from.priority),
                   db_i(from.id), db_i((int64_t)limit)) != E_OK)
        return err->code;
    *ret_n = t.n;
    return E_OK;
}

struct id_taker {
    int64_t *ids;
    size_t n;
};

static void take_id(void *ctx, const struct db_row *row)
{
    struct id_taker *t = ctx;

    t->ids[t->n++] = db_col_int(row, 0);
}

enum err_code store_due_scan(struct store *s, int64_t now_at, int64_t *ids, size_t limit, size_t *ret_n,
                             struct err *err)
{
    struct id_taker t = {.ids = ids};

    if (db_do_rows(s->db, SQL_DUE_SCAN, take_id, &t, err, db_i(now_at), db_i((int64_t)limit)) != E_OK)
        return err->code;
    *ret_n = t.n;
    return E_OK;
}

enum err_code store_due_next(struct store *s, int64_t *ret_at, struct err *err)
{
    struct taken_int got = {0};
    struct db_taker taker = {.on_row = take_one_int, .ctx = &got};

    if (db_one(s->db, SQL_DUE_NEXT, NULL, 0, &taker, err) != E_OK)
        return err->code;
    *ret_at = got.found ? got.value : TIME_NEVER;
    return E_OK;
}

enum err_code store_expired_scan(struct store *s, int64_t queue, enum job_state state, int64_t before_at,
                                 int64_t *ids, size_t limit, size_t *ret_n, struct err *err)
{
    struct id_taker t = {.ids = ids};

    if (db_do_rows(s->db, SQL_EXPIRED_SCAN, take_id, &t, err, db_i(queue), db_i(state),
                   db_i(before_at), db_i((int64_t)limit)) != E_OK)
        return err->code;
    *ret_n = t.n;
    return E_OK;
}

enum err_code store_expired_next(struct store *s, int64_t queue, enum job_state state,
                                 int64_t *ret_finished_at, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_EXPIRED_NEXT, take_one_int, &got, err, db_i(queue), db_i(state)) != E_OK)
        return err->code;
    *ret_finished_at = got.found ? got.value : TIME_NEVER;
    return E_OK;
}

/* ---- record, keys ---- */

enum err_code store_progress_add(struct store *s, int64_t job, const struct progress_entry *e,
                                 struct err *err)
{
    return db_do(s->db, SQL_PROGRESS_ADD, err, db_i(job), db_i(e->attempt), db_i(e->number),
                 db_i(e->attempt), db_i(e->token), db_i(e->outcome), db_i(e->cause),
                 e->exited ? db_i(e->exit) : (struct db_value){.type = DB_NULL}, db_i(e->queue),
                 db_i(e->worker), db_i(e->started_at), db_i(e->ended_at), db_t(e->text), db_t(e->set));
}

struct entry_taker {
    store_progress_fn *on_entry;
    void *ctx;
};

static void take_entry(void *ctx, const struct db_row *row)
{
    struct entry_taker *t = ctx;
    struct progress_entry e = {
        .number = (int)db_col_int(row, 0),
        .attempt = (int)db_col_int(row, 1),
        .token = db_col_int(row, 2),
        .outcome = (enum job_outcome)db_col_int(row, 3),
        .cause = (enum job_cause)db_col_int(row, 4),
        .exited = !db_col_null(row, 5),
        .exit = (int)db_col_int(row, 5),
        .queue = db_col_int(row, 6),
        .worker = db_col_int(row, 7),
        .started_at = db_col_int(row, 8),
        .ended_at = db_col_int(row, 9),
        .text = db_col_text(row, 10),
        .set = db_col_text(row, 11),
    };

    t->on_entry(t->ctx, &e);
}

enum err_code store_progress_load(struct store *s, int64_t job, store_progress_fn *on_entry, void *ctx,
                                  struct err *err)
{
    struct entry_taker t = {on_entry, ctx};

    return db_do_rows(s->db, SQL_PROGRESS_LOAD, take_entry, &t, err, db_i(job));
}

enum err_code store_progress_find(struct store *s, int64_t job, int64_t token,
                                  enum job_outcome *ret_outcome, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_PROGRESS_FIND, take_one_int, &got, err, db_i(job), db_i(token)) != E_OK)
        return err->code;
    *ret_outcome = got.found ? (enum job_outcome)got.value : JOB_OUT_NONE;
    return E_OK;
}

struct key_taker {
    int64_t job;
    int64_t content;
};

static void take_key(void *ctx, const struct db_row *row)
{
    struct key_taker *t = ctx;

    t->job = db_col_int(row, 0);
    t->content = db_col_int(row, 1);
}

enum err_code store_key_find(struct store *s, struct slice key, int64_t *ret_job, uint64_t *ret_content,
                             struct err *err)
{
    struct key_taker t = {0};

    if (db_do_rows(s->db, SQL_KEY_FIND, take_key, &t, err, db_t(key)) != E_OK)
        return err->code;
    *ret_job = t.job;
    *ret_content = (uint64_t)t.content;
    return E_OK;
}

enum err_code store_key_add(struct store *s, struct slice key, int64_t job, uint64_t content,
                            struct err *err)
{
    return db_do(s->db, SQL_KEY_ADD, err, db_t(key), db_i(job), db_i((int64_t)content));
}
