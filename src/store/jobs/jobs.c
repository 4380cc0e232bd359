/* SPDX-License-Identifier: MIT */
#include "store/jobs/jobs.h"

#include <string.h>

#include "base/id.h"
#include "base/json/json.h"
#include "store/internal.h"
#include "store/jobs/history.h"
#include "store/jobs/rows.h"
#include "store/links/links.h"

/* ---- rows ---- */

/* What was never filled holds the id as a stand-in: see the schema. */
static int64_t unless_stand_in(int64_t value, int64_t id)
{
    return value == id ? 0 : value;
}

static bool is_json(struct slice text, bool is_object)
{
    struct err ignored = ERR_INIT;
    struct slice value;

    return json_check(text, &value, &ignored) == E_OK &&
           (!is_object || json_type_of(value) == JSON_T_OBJECT);
}

struct slice take_json(const struct db_row *row, int column, const char *what, struct arena *arena)
{
    bool any = strcmp(what, "result") == 0;
    struct slice text = db_col_text(row, column);
    char id[ID_TEXT_SIZE];

    if (text.size > 0 && !is_json(text, !any)) {
        db_row_refuse(row, "job %s: its %s cannot be read", id_format(db_col_int(row, 0), id),
                      what);
        return slice_make(NULL, 0);
    }
    return copy_text(text, arena);
}

/* Numbers that no server writes. */
static bool hot_is_sound(const struct job *j)
{
    return j->id.v > 0 && j->state > JOB_NONE && j->state < JOB_STATE_COUNT && j->attempt >= 0 &&
           j->attempt < INT32_MAX / 2 && j->due_at >= 0 && j->started_at >= 0 &&
           j->lease_until_at >= 0 && j->finished_at >= 0;
}

static bool hot_from_row(const struct db_row *row, struct arena *arena, struct job *j)
{
    int64_t id = db_col_int(row, 0);

    *j = (struct job){
        .id = {id},
        .queue = db_col_int(row, 1),
        .state = (enum job_state)db_col_int(row, 2),
        .priority = (int)db_col_int(row, 3),
        .due_at = db_col_int(row, 4),
        .token = db_col_int(row, 5),
        .prev_token = db_col_int(row, 6),
        .started_at = unless_stand_in(db_col_int(row, 7), id),
        .lease_until_at = unless_stand_in(db_col_int(row, 8), id),
        .finished_at = db_col_int(row, 9),
        .worker = db_col_int(row, 10),
        .attempt = (int)db_col_int(row, 11),
    };
    struct slice history = db_col_text(row, 12);

    j->awaited = db_col_int(row, 13) != 0;
    if (hot_is_sound(j) &&
        history_parse(history.size > 0 ? arena_copy(arena, history) : history, arena, j))
        return true;
    char text[ID_TEXT_SIZE];

    db_row_refuse(row, "job %s: its row cannot be", id_format(id, text));
    *j = (struct job){.id = {id}, .state = JOB_NONE};
    return false;
}

void job_from_row(const struct db_row *row, struct arena *arena, struct job *ret_job)
{
    if (!hot_from_row(row, arena, ret_job))
        return;
    ret_job->key = copy_text(db_col_text(row, 14), arena);
    ret_job->params = take_json(row, 15, "params", arena);
    ret_job->body = copy_text(db_col_blob(row, 16), arena);
    ret_job->labels = take_json(row, 17, "labels", arena);
    ret_job->options = take_json(row, 18, "options", arena);
    ret_job->result = take_json(row, 19, "result", arena);
    ret_job->bill = take_json(row, 20, "bill", arena);
    ret_job->assigned = take_json(row, 21, "assigned", arena);
}

/* The value of a column; of one that was cut the start and, from `size_column`, the size. */
static struct slice take_listed_json(const struct db_row *row, int column, int size_column,
                                     const char *what, struct arena *arena,
                                     struct job_cut_value *ret_cut)
{
    int64_t size = db_col_int(row, size_column);

    if (size <= LISTED_VALUE_MAX)
        return take_json(row, column, what, arena);
    *ret_cut = (struct job_cut_value){copy_text(db_col_text(row, column), arena), size};
    return slice_make(NULL, 0);
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

static void take_listed(void *ctx, const struct db_row *row)
{
    struct job_taker *t = ctx;
    struct job *j = t->job;

    t->found = true;
    if (!hot_from_row(row, t->arena, j))
        return;
    j->key = copy_text(db_col_text(row, 14), t->arena);
    j->cut = arena_zalloc(t->arena, sizeof(*j->cut));
    j->params = take_listed_json(row, 15, 22, "params", t->arena, &j->cut->params);
    j->labels = take_listed_json(row, 17, 23, "labels", t->arena, &j->cut->labels);
    j->options = take_listed_json(row, 18, 24, "options", t->arena, &j->cut->options);
    j->result = take_listed_json(row, 19, 25, "result", t->arena, &j->cut->result);
    j->bill = take_json(row, 20, "bill", t->arena);
}

static void take_brief(void *ctx, const struct db_row *row)
{
    struct job_taker *t = ctx;

    (void)hot_from_row(row, t->arena, t->job);
    t->found = true;
}

/* ---- loading ---- */

/* A server that shares the store holds what it judges. */
static enum sql judging(const struct store *s)
{
    return s->shared && s->mode == STORE_WRITE ? SQL_JOB_JUDGE : SQL_JOB_BRIEF;
}

/* How much of a job is read, among the living and then among the ended. */
struct reading {
    enum sql live, ended;
    db_row_fn *take;
};

static enum err_code read_job(struct store *s, const struct reading *how, int64_t id,
                              struct job_taker *t, struct err *err)
{
    if (db_do_rows(s->db, how->live, how->take, t, err, db_i(id)) != E_OK)
        return err->code;
    return t->found ? E_OK : db_do_rows(s->db, how->ended, how->take, t, err, db_i(id));
}

enum err_code store_job_load(struct store *s, int64_t id, struct arena *arena, struct job *ret_job,
                             bool *ret_found, struct err *err)
{
    static const struct reading whole = {SQL_JOB_LOAD, SQL_ENDED_LOAD, take_job};
    struct job_taker t = {.job = ret_job, .arena = arena};

    if (read_job(s, &whole, id, &t, err) != E_OK)
        return err->code;
    *ret_found = t.found;
    return E_OK;
}

enum err_code store_job_lean(struct store *s, int64_t id, struct arena *arena, struct job *ret_job,
                             bool *ret_found, struct err *err)
{
    static const struct reading lean = {SQL_JOB_LEAN, SQL_ENDED_LEAN, take_job};
    struct job_taker t = {.job = ret_job, .arena = arena};

    if (read_job(s, &lean, id, &t, err) != E_OK)
        return err->code;
    *ret_found = t.found;
    return E_OK;
}

enum err_code store_job_listed(struct store *s, int64_t id, struct arena *arena,
                               struct job *ret_job, bool *ret_found, struct err *err)
{
    struct job_taker t = {.job = ret_job, .arena = arena};
    const enum sql among[] = {SQL_JOB_LISTED, SQL_ENDED_LISTED};

    for (size_t i = 0; i < ARRAY_LEN(among) && !t.found; i++)
        if (db_do_rows(s->db, among[i], take_listed, &t, err, db_i(id), db_i(LISTED_VALUE_MAX),
                       db_i(LISTED_BILL_MAX)) != E_OK)
            return err->code;
    *ret_found = t.found;
    return E_OK;
}

enum err_code store_job_outline(struct store *s, int64_t id, struct arena *arena,
                                struct job *ret_job, bool *ret_found, struct err *err)
{
    const struct reading outline = {judging(s), SQL_ENDED_BRIEF, take_brief};
    struct job_taker t = {.job = ret_job, .arena = arena};

    if (read_job(s, &outline, id, &t, err) != E_OK)
        return err->code;
    *ret_found = t.found;
    return E_OK;
}

enum err_code store_job_brief(struct store *s, int64_t id, struct arena *arena, struct job *ret_job,
                              bool *ret_found, struct err *err)
{
    struct job_taker t = {.job = ret_job, .arena = arena};

    if (db_do_rows(s->db, judging(s), take_brief, &t, err, db_i(id)) != E_OK)
        return err->code;
    *ret_found = t.found;
    return E_OK;
}

struct text_taker {
    struct slice text;
    struct arena *arena;
};

static void take_text(void *ctx, const struct db_row *row)
{
    struct text_taker *t = ctx;

    t->text = copy_text(db_col_text(row, 0), t->arena);
    if (t->text.size > 0 && !is_json(t->text, true))
        db_row_refuse(row, "the options of a job cannot be read");
}

enum err_code store_job_options(struct store *s, int64_t id, struct arena *arena,
                                struct slice *ret_options, struct err *err)
{
    struct text_taker t = {.arena = arena};

    if (db_do_rows(s->db, SQL_PAYLOAD_OPTIONS, take_text, &t, err, db_i(id)) != E_OK)
        return err->code;
    *ret_options = t.text;
    return E_OK;
}

/* ---- moving ---- */

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
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct db_value args[] = {
        db_i(was->id.v),   db_i(was->state),   db_i(was->token),
        db_i(now->queue),  db_i(now->state),   db_i(now->priority),
        db_i(now->due_at), db_i(now->attempt), db_t(history_format(now, &arena)),
    };

    held_forget(&s->held, was->id.v);
    return run_guarded(s, SQL_JOB_UPDATE, args, ARRAY_LEN(args), ret_hit, err);
}

enum err_code store_job_change_payload(struct store *s, int64_t id, struct slice params,
                                       struct slice labels, struct err *err)
{
    held_forget(&s->held, id);
    return db_do(s->db, SQL_PAYLOAD_CHANGE, err, db_i(id), db_t(params), db_t(labels),
                 (struct db_value){.type = DB_NULL});
}

enum err_code store_job_set_route(struct store *s, int64_t id, struct slice options,
                                  struct slice bill, struct slice assigned, struct err *err)
{
    held_forget(&s->held, id);
    return db_do(s->db, SQL_PAYLOAD_SET_ROUTE, err, db_i(id), db_i(options.data != NULL),
                 db_t(options), db_i(bill.data != NULL), db_t(bill), db_i(assigned.data != NULL),
                 db_t(assigned));
}

enum err_code store_job_keep_result(struct store *s, int64_t id, struct slice result,
                                    struct err *err)
{
    const struct db_value none = {.type = DB_NULL};

    return db_do(s->db, SQL_PAYLOAD_CHANGE, err, db_i(id), none, none, db_t(result));
}

enum err_code store_job_end(struct store *s, const struct job *was, const struct job *now,
                            bool *ret_hit, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct db_value args[] = {
        db_i(was->id.v),
        db_i(was->state),
        db_i(was->token),
        db_i(now->state),
        db_i(now->finished_at),
        db_i(was->attempt - now->attempt),
        db_t(history_format(now, &arena)),
    };

    held_forget(&s->held, was->id.v);
    if (run_guarded(s, SQL_JOB_END, args, ARRAY_LEN(args), ret_hit, err) != E_OK)
        return err->code;
    if (!*ret_hit)
        return E_OK;
    if (db_do(s->db, SQL_JOB_REMOVE, err, db_i(was->id.v)) != E_OK)
        return err->code;
    return now->result.size == 0 ? E_OK : store_job_keep_result(s, now->id.v, now->result, err);
}

enum err_code store_job_revive(struct store *s, const struct job *j, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    if (db_do(s->db, SQL_JOB_REVIVE, err, db_i(j->id.v), db_i(j->queue), db_i(j->state),
              db_i(j->priority), db_i(j->due_at), db_t(history_format(j, &arena))) != E_OK ||
        db_do(s->db, SQL_PAYLOAD_FORGET_RESULT, err, db_i(j->id.v)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_ENDED_REMOVE, err, db_i(j->id.v));
}

enum err_code store_job_remove(struct store *s, const struct job *j, struct err *err)
{
    int64_t id = j->id.v;
    enum sql sql = job_state_ended(j->state) ? SQL_ENDED_REMOVE : SQL_JOB_REMOVE;

    held_forget(&s->held, id);
    /* The key before the payload that tells it. */
    if (db_do(s->db, sql, err, db_i(id)) != E_OK ||
        db_do(s->db, SQL_KEY_REMOVE, err, db_i(id)) != E_OK ||
        db_do(s->db, SQL_PAYLOAD_REMOVE, err, db_i(id)) != E_OK ||
        db_do(s->db, SQL_PROGRESS_REMOVE, err, db_i(id)) != E_OK ||
        db_do(s->db, SQL_CURSOR_REMOVE, err, db_i(id)) != E_OK)
        return err->code;
    if (db_do(s->db, SQL_LOG_REMOVE, err, db_i(id)) != E_OK ||
        (j->state == JOB_CANCELLED && store_undone_remove(s, id, err) != E_OK))
        return err->code;
    return db_do(s->db, SQL_LOG_TIMES_REMOVE, err, db_i(id));
}

enum err_code store_job_touch(struct store *s, int64_t id, int64_t token, int64_t until_at,
                              const struct touch_status *status, enum touch_result *ret_result,
                              struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    bool found = false;
    bool hit = false;
    struct job j;

    if (store_job_brief(s, id, &arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || j.state != JOB_RUNNING || j.token != token) {
        *ret_result = TOUCH_LOST;
        return E_OK;
    }
    if (status->has_text)
        j.text = status->text;
    if (status->has_done) {
        j.done = status->done;
        j.total = status->total;
    }
    if (status->has_unit)
        j.unit = status->unit;
    if (status->has_expected)
        j.expected_at = status->expected_at;
    const struct db_value args[] = {db_i(id), db_i(token), db_i(until_at),
                                    db_t(history_format(&j, &arena))};

    if (run_guarded(s, SQL_JOB_TOUCH, args, ARRAY_LEN(args), &hit, err) != E_OK)
        return err->code;
    *ret_result = !hit ? TOUCH_LOST : j.cancelling ? TOUCH_CANCELLING : TOUCH_HELD;
    return E_OK;
}

enum err_code store_job_newest(struct store *s, int64_t *ret_id, struct err *err)
{
    struct taken_int got = {0};
    struct db_taker taker = {.on_row = take_one_int, .ctx = &got};

    if (db_one(s->db, SQL_JOB_NEWEST, NULL, 0, &taker, err) != E_OK)
        return err->code;
    *ret_id = got.value;
    return E_OK;
}
