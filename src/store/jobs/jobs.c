/* SPDX-License-Identifier: MIT */
#include "store/jobs/jobs.h"

#include <string.h>

#include "store/db/columns.h"
#include "store/internal.h"
#include "store/jobs/history.h"
#include "store/jobs/rows.h"
#include "store/links/links.h"

/* ---- rows ---- */

static const struct db_column row_columns[] = {
    DB_NUMBER(job, id.v, .min = 1, .max = INT64_MAX),
    DB_NUMBER(job, queue),
    DB_NUMBER(job, state, .min = JOB_NONE + 1, .max = JOB_STATE_COUNT - 1),
    DB_NUMBER(job, priority),
    DB_NUMBER(job, due_at, .max = INT64_MAX),
    DB_NUMBER(job, token),
    DB_NUMBER(job, prev_token),
    DB_NUMBER(job, started_at, .max = INT64_MAX),
    DB_NUMBER(job, lease_until_at, .max = INT64_MAX),
    DB_NUMBER(job, finished_at, .max = INT64_MAX),
    DB_NUMBER(job, worker),
    DB_NUMBER(job, attempt, .max = INT32_MAX / 2),
    DB_SKIPPED, /* history */
    DB_NUMBER(job, awaited),
    DB_NUMBER(job, group, .max = INT64_MAX),
    DB_NUMBER(job, lane, .max = INT64_MAX),
};

enum { HISTORY_COLUMN = 12, PAYLOAD_COLUMN = ARRAY_LEN(row_columns) };

/* A column that was never set holds the id: see the schema. */
static bool finish_row(void *item, const struct db_row *row, struct arena *arena)
{
    struct job *j = item;
    struct slice history = db_col_text(row, HISTORY_COLUMN);

    if (j->started_at == j->id.v)
        j->started_at = 0;
    if (j->lease_until_at == j->id.v)
        j->lease_until_at = 0;
    return history_parse(history.size > 0 ? arena_copy(arena, history) : history, arena, j);
}

static const struct db_table row_table = DB_TABLE("job", job, row_columns, .check = finish_row);

static const struct db_column payload_columns[] = {
    DB_VALUE(DB_COLUMN_TEXT, job, key),       DB_VALUE(DB_COLUMN_OBJECT, job, params),
    DB_VALUE(DB_COLUMN_BYTES, job, body),     DB_VALUE(DB_COLUMN_OBJECT, job, labels),
    DB_VALUE(DB_COLUMN_OBJECT, job, options), DB_VALUE(DB_COLUMN_JSON, job, result),
    DB_VALUE(DB_COLUMN_OBJECT, job, routing), DB_VALUE(DB_COLUMN_OBJECT, job, assigned),
};
_Static_assert(PAYLOAD_COLUMN + ARRAY_LEN(payload_columns) == JOB_ROW_END, "see rows.h");

static const struct db_table payload_table = DB_TABLE("job", job, payload_columns,
                                                      .first = PAYLOAD_COLUMN);

/* What moves.  False: a bad row; the job has its id and no state. */
static bool state_from_row(const struct db_row *row, struct arena *arena, struct job *ret_job)
{
    *ret_job = (struct job){.state = JOB_NONE};
    if (db_row_read(row, &row_table, arena, ret_job))
        return true;
    *ret_job = (struct job){.id = {db_col_int(row, 0)}, .state = JOB_NONE};
    return false;
}

void job_from_row(const struct db_row *row, struct arena *arena, struct job *ret_job)
{
    if (state_from_row(row, arena, ret_job))
        (void)db_row_read(row, &payload_table, arena, ret_job); /* an unreadable value is empty */
}

/* ---- loading ---- */

struct job_reader {
    struct job *job;
    struct arena *arena;
    bool found;
};

static void on_state_row(void *ctx, const struct db_row *row)
{
    struct job_reader *r = ctx;

    r->found = true;
    (void)state_from_row(row, r->arena, r->job);
}

static void on_job_row(void *ctx, const struct db_row *row)
{
    struct job_reader *r = ctx;

    r->found = true;
    job_from_row(row, r->arena, r->job);
}

/* Behind the payload come the sizes of these values, in this order.  The column of one that is
 * larger than LISTED_VALUE_MAX has only its start, which is no JSON. */
static const struct {
    size_t column, cut;
} previews[] = {
    {1, offsetof(struct job_cut, params)},
    {3, offsetof(struct job_cut, labels)},
    {4, offsetof(struct job_cut, options)},
    {5, offsetof(struct job_cut, result)},
};

static void on_preview_row(void *ctx, const struct db_row *row)
{
    struct job_reader *r = ctx;
    struct job *j = r->job;
    struct db_column columns[ARRAY_LEN(payload_columns)];
    struct db_table table = payload_table;
    int64_t sizes[ARRAY_LEN(previews)];

    r->found = true;
    if (!state_from_row(row, r->arena, j))
        return;
    memcpy(columns, payload_columns, sizeof(columns));
    table.columns = columns;
    for (size_t i = 0; i < ARRAY_LEN(previews); i++) {
        sizes[i] = db_col_int(row, PAYLOAD_COLUMN + (int)(ARRAY_LEN(columns) + i));
        if (sizes[i] > LISTED_VALUE_MAX)
            columns[previews[i].column].type = DB_COLUMN_TEXT;
    }
    (void)db_row_read(row, &table, r->arena, j);
    j->cut = arena_zalloc(r->arena, sizeof(*j->cut));
    for (size_t i = 0; i < ARRAY_LEN(previews); i++) {
        void *value = (char *)j + columns[previews[i].column].offset;
        struct job_cut_value cut = {.size = sizes[i]};

        if (sizes[i] <= LISTED_VALUE_MAX)
            continue;
        memcpy(&cut.start, value, sizeof(cut.start));
        memcpy((char *)j->cut + previews[i].cut, &cut, sizeof(cut));
        memset(value, 0, sizeof(struct slice));
    }
}

/* How much of a job is read, among the living and then among the ended. */
struct job_reading {
    enum sql live, ended;
    db_row_fn *on_row;
    size_t n_args;
};

enum err_code store_job_load(struct store *s, int64_t id, unsigned parts, struct arena *arena,
                             struct job *ret_job, bool *ret_found, struct err *err)
{
    bool judged = s->shared && s->mode == STORE_WRITE; /* locked against the other servers */
    struct job_reading how = {judged ? SQL_JOB_JUDGE : SQL_JOB_STATE, SQL_ENDED_STATE, on_state_row,
                              1};
    struct db_value args[] = {db_i(id), db_i(0), db_i(0)};
    struct job_reader r = {.job = ret_job, .arena = arena};

    if ((parts & LOAD_PREVIEW) != 0) {
        how = (struct job_reading){SQL_JOB_PREVIEW, SQL_ENDED_PREVIEW, on_preview_row, 3};
        args[1] = db_i(LISTED_VALUE_MAX);
        args[2] = db_i(LISTED_BILL_MAX);
    } else if ((parts & LOAD_ALL) != 0) {
        how = (struct job_reading){SQL_JOB_LOAD, SQL_ENDED_LOAD, on_job_row, 2};
        args[1] = db_i((parts & LOAD_BODY) != 0);
    }
    for (int i = 0; i < ((parts & LOAD_LIVE) != 0 ? 1 : 2) && !r.found; i++)
        if (db_call_rows(s->db, i == 0 ? how.live : how.ended, (struct db_args){args, how.n_args},
                         &(struct db_reader){how.on_row, &r}, err) != E_OK)
            return err->code;
    *ret_found = r.found;
    return E_OK;
}

static const struct db_column options_columns[] = {
    DB_SKIPPED, /* id */
    {.type = DB_COLUMN_OBJECT, .name = "options", .size = sizeof(struct slice)},
};
static const struct db_table options_table = DB_TABLE("job", slice, options_columns);

enum err_code store_job_options(struct store *s, int64_t id, struct arena *arena,
                                struct slice *ret_options, struct err *err)
{
    return db_find(s->db, SQL_PAYLOAD_OPTIONS, &options_table, arena, ret_options, err, db_i(id));
}

/* ---- moving ---- */

/* Runs a guarded statement and says whether it hit its row. */
static enum err_code run_guarded(struct store *s, enum sql sql, struct db_args args, bool *ret_hit,
                                 struct err *err)
{
    int64_t changed = 0;

    if (db_call_change(s->db, sql, args, &changed, err) != E_OK)
        return err->code;
    *ret_hit = changed == 1;
    return E_OK;
}

enum err_code store_job_update(struct store *s, const struct job *was, const struct job *now,
                               bool *ret_hit, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct db_value args[] = {
        db_i(was->id.v),      db_i(was->state),   db_i(was->token),
        db_i(job_place(now)), db_i(now->state),   db_i(now->priority),
        db_i(now->due_at),    db_i(now->attempt), db_t(history_format(now, &arena)),
    };

    ready_cache_forget(&s->ready_cache, was->id.v);
    if (run_guarded(s, SQL_JOB_UPDATE, (struct db_args){args, ARRAY_LEN(args)}, ret_hit, err) !=
        E_OK)
        return err->code;
    if (!*ret_hit || (was->lane != 0) == (now->lane != 0))
        return E_OK;
    return db_do(s->db, SQL_JOB_SET_LANE, err, db_i(was->id.v),
                 db_i(now->lane != 0 ? JOB_TIE_LANE : 0));
}

enum err_code store_job_change_payload(struct store *s, int64_t id, struct slice params,
                                       struct slice labels, struct err *err)
{
    ready_cache_forget(&s->ready_cache, id);
    return db_do(s->db, SQL_PAYLOAD_CHANGE, err, db_i(id), db_t(params), db_t(labels),
                 (struct db_value){.type = DB_NULL});
}

enum err_code store_job_set_route(struct store *s, int64_t id, struct slice options,
                                  struct slice routing, struct slice assigned, struct err *err)
{
    ready_cache_forget(&s->ready_cache, id);
    return db_do(s->db, SQL_PAYLOAD_SET_ROUTE, err, db_i(id), db_i(options.data != NULL),
                 db_t(options), db_i(routing.data != NULL), db_t(routing),
                 db_i(assigned.data != NULL), db_t(assigned));
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
        db_i(now->queue),
    };

    ready_cache_forget(&s->ready_cache, was->id.v);
    if (run_guarded(s, SQL_JOB_END, (struct db_args){args, ARRAY_LEN(args)}, ret_hit, err) != E_OK)
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

    if (db_do(s->db, SQL_JOB_REVIVE, err, db_i(j->id.v), db_i(job_place(j)), db_i(j->state),
              db_i(j->priority), db_i(j->due_at), db_t(history_format(j, &arena)),
              db_i(job_ties(j))) != E_OK ||
        db_do(s->db, SQL_PAYLOAD_FORGET_RESULT, err, db_i(j->id.v)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_ENDED_REMOVE, err, db_i(j->id.v));
}

enum err_code store_job_remove(struct store *s, const struct job *j, struct err *err)
{
    int64_t id = j->id.v;
    enum sql sql = job_state_ended(j->state) ? SQL_ENDED_REMOVE : SQL_JOB_REMOVE;

    ready_cache_forget(&s->ready_cache, id);
    /* The key before the payload that tells it. */
    if (db_do(s->db, sql, err, db_i(id)) != E_OK ||
        db_do(s->db, SQL_KEY_REMOVE, err, db_i(id)) != E_OK ||
        db_do(s->db, SQL_PAYLOAD_REMOVE, err, db_i(id)) != E_OK ||
        db_do(s->db, SQL_MEMBER_REMOVE, err, db_i(id)) != E_OK ||
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

    if (store_job_load(s, id, LOAD_LIVE, &arena, &j, &found, err) != E_OK)
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

    if (run_guarded(s, SQL_JOB_TOUCH, (struct db_args){args, ARRAY_LEN(args)}, &hit, err) != E_OK)
        return err->code;
    *ret_result = !hit ? TOUCH_LOST : j.cancelling ? TOUCH_CANCELLING : TOUCH_HELD;
    return E_OK;
}

enum err_code store_job_newest(struct store *s, int64_t *ret_id, struct err *err)
{
    return db_number(s->db, SQL_JOB_NEWEST, ret_id, err);
}
