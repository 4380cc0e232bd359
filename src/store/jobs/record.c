/* SPDX-License-Identifier: MIT */
#include "store/jobs/record.h"

#include "store/internal.h"

enum err_code store_progress_add(struct store *s, int64_t job, const struct progress_entry *e,
                                 struct err *err)
{
    return db_do(s->db, SQL_PROGRESS_ADD, err, db_i(job), db_i(e->seq), db_i(e->number),
                 db_i(e->attempt), db_i(e->token), db_i(e->outcome), db_i(e->cause),
                 e->exited ? db_i(e->exit) : (struct db_value){.type = DB_NULL}, db_i(e->queue),
                 db_i(e->worker), db_i(e->started_at), db_i(e->ended_at), db_t(e->text),
                 db_t(e->set));
}

struct entry_taker {
    store_progress_fn *on_entry;
    void *ctx;
};

static void take_entry(void *ctx, const struct db_row *row)
{
    struct entry_taker *t = ctx;
    struct progress_entry e = {
        .seq = (int)db_col_int(row, 0),
        .number = (int)db_col_int(row, 1),
        .attempt = (int)db_col_int(row, 2),
        .token = db_col_int(row, 3),
        .outcome = (enum job_outcome)db_col_int(row, 4),
        .cause = (enum job_cause)db_col_int(row, 5),
        .exited = !db_col_null(row, 6),
        .exit = (int)db_col_int(row, 6),
        .queue = db_col_int(row, 7),
        .worker = db_col_int(row, 8),
        .started_at = db_col_int(row, 9),
        .ended_at = db_col_int(row, 10),
        .text = db_col_text(row, 11),
        .set = db_col_text(row, 12),
    };

    if (e.outcome >= JOB_OUT_COUNT || e.cause >= JOB_CAUSE_COUNT)
        db_row_refuse(row, "entry %d of the record of a job cannot be", e.seq);
    else
        t->on_entry(t->ctx, &e);
}

enum err_code store_progress_load(struct store *s, int64_t job, store_progress_fn *on_entry,
                                  void *ctx, struct err *err)
{
    struct entry_taker t = {on_entry, ctx};

    return db_do_rows(s->db, SQL_PROGRESS_LOAD, take_entry, &t, err, db_i(job));
}

enum err_code store_progress_find(struct store *s, int64_t job, int64_t token,
                                  enum job_outcome *ret_outcome, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_PROGRESS_FIND, take_one_int, &got, err, db_i(job), db_i(token)) !=
        E_OK)
        return err->code;
    if (got.found && (got.value < JOB_OUT_NONE || got.value >= JOB_OUT_COUNT))
        return store_job_damaged(s, job, "its record cannot be", err);
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

enum err_code store_key_find(struct store *s, struct slice key, int64_t *ret_job,
                             uint64_t *ret_content, struct err *err)
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
    const struct db_value args[] = {db_t(key), db_i(job), db_i((int64_t)content)};
    struct db_taker taker = {0};

    if (db_one(s->db, SQL_KEY_ADD, args, ARRAY_LEN(args), &taker, err) != E_OK)
        return err->code;
    if (taker.changed == 1)
        return E_OK;
    s->conflict = true;
    return err_set(err, E_UNAVAILABLE, "another server was given the same key at this instant");
}
