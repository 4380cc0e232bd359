/* SPDX-License-Identifier: MIT */
#include "store/jobs/record.h"

#include <string.h>

#include "store/db/columns.h"
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

static const struct db_column entry_columns[] = {
    DB_NUMBER(progress_entry, seq),
    DB_NUMBER(progress_entry, number),
    DB_NUMBER(progress_entry, attempt),
    DB_NUMBER(progress_entry, token),
    DB_NUMBER(progress_entry, outcome, .min = JOB_OUT_NONE, .max = JOB_OUT_COUNT - 1),
    DB_NUMBER(progress_entry, cause, .min = JOB_CAUSE_NONE, .max = JOB_CAUSE_COUNT - 1),
    DB_NUMBER(progress_entry, exit, .has = offsetof(struct progress_entry, exited)),
    DB_NUMBER(progress_entry, queue),
    DB_NUMBER(progress_entry, worker),
    DB_NUMBER(progress_entry, started_at),
    DB_NUMBER(progress_entry, ended_at),
    DB_VALUE(DB_COLUMN_TEXT, progress_entry, text),
    DB_VALUE(DB_COLUMN_TEXT, progress_entry, set),
};
static const struct db_table entry_table = DB_TABLE("entry of a record", progress_entry,
                                                    entry_columns);

DB_EACH_FN(each_entry, progress_entry, entry_table)

enum err_code store_progress_load(struct store *s, int64_t job, store_progress_fn *on_entry,
                                  void *ctx, struct err *err)
{
    return each_entry(s->db, SQL_PROGRESS_LOAD, DB_ARGS(db_i(job)), on_entry, ctx, err);
}

enum err_code store_progress_find(struct store *s, int64_t job, int64_t token,
                                  enum job_outcome *ret_outcome, struct err *err)
{
    int64_t outcome = JOB_OUT_NONE;

    if (db_number(s->db, SQL_PROGRESS_FIND, &outcome, err, db_i(job), db_i(token)) != E_OK)
        return err->code;
    if (outcome < JOB_OUT_NONE || outcome >= JOB_OUT_COUNT)
        return store_job_damaged(s, job, "impossible outcome in its record", err);
    *ret_outcome = (enum job_outcome)outcome;
    return E_OK;
}

/* ---- keys ---- */

/* Keys of one statement; how often a key is tried again that another server took and released. */
enum { KEY_SET = 1000, KEY_TRIES = 5 };

static void on_key_row(void *ctx, const struct db_row *row)
{
    struct stored_key *keys = ctx;
    struct stored_key *k = &keys[db_col_int(row, 0)];

    k->job = db_col_int(row, 1);
    k->content = (uint64_t)db_col_int(row, 2);
}

static enum err_code find_set(struct store *s, struct stored_key *keys, size_t n, struct err *err)
{
    struct db_value values[2 * KEY_SET];
    struct db_rows rows = {values, n, 2};

    for (size_t i = 0; i < n; i++) {
        values[2 * i] = db_i((int64_t)i);
        values[2 * i + 1] = db_t(keys[i].key);
        keys[i].job = 0;
    }
    return db_rows(s->db, SQL_KEYS_FIND, on_key_row, keys, err, db_r(&rows));
}

enum err_code store_keys_find(struct store *s, struct stored_key *keys, size_t n, struct err *err)
{
    for (size_t done = 0; done < n; done += KEY_SET)
        if (find_set(s, keys + done, n - done < KEY_SET ? n - done : KEY_SET, err) != E_OK)
            return err->code;
    return E_OK;
}

/* *ret_all: each is its job's now. */
static enum err_code add_set(struct store *s, const struct stored_key *keys, size_t n,
                             bool *ret_all, struct err *err)
{
    struct db_value values[3 * KEY_SET];
    struct db_rows rows = {values, n, 3};
    int64_t added = 0;

    for (size_t i = 0; i < n; i++) {
        values[3 * i] = db_t(keys[i].key);
        values[3 * i + 1] = db_i(keys[i].job);
        values[3 * i + 2] = db_i((int64_t)keys[i].content);
    }
    if (db_change(s->db, SQL_KEYS_ADD, &added, err, db_r(&rows)) != E_OK)
        return err->code;
    *ret_all = added == (int64_t)n;
    return E_OK;
}

/* Who has the keys of the set.  One that was lost to a job which is gone by now belongs to nobody:
 * it is tried again. */
static enum err_code settle_set(struct store *s, struct stored_key *keys, size_t n, struct err *err)
{
    struct stored_key wanted[KEY_SET];
    struct stored_key found[KEY_SET];
    bool all = false;

    memcpy(wanted, keys, n * sizeof(*keys));
    for (int tries = 0; tries < KEY_TRIES; tries++) {
        struct stored_key *at = keys; /* in the same order */
        size_t left = 0;

        if (add_set(s, wanted, n, &all, err) != E_OK || all)
            return err->code;
        memcpy(found, wanted, n * sizeof(*found));
        if (find_set(s, found, n, err) != E_OK)
            return err->code;
        for (size_t i = 0; i < n; i++) {
            if (found[i].job == 0) {
                wanted[left++] = wanted[i];
                continue;
            }
            while (!slice_equal(at->key, found[i].key))
                at++;
            *at++ = found[i];
        }
        if (left == 0)
            return E_OK;
        n = left;
    }
    return store_give_way(s, err);
}

enum err_code store_keys_add(struct store *s, struct stored_key *keys, size_t n, struct err *err)
{
    for (size_t done = 0; done < n; done += KEY_SET)
        if (settle_set(s, keys + done, n - done < KEY_SET ? n - done : KEY_SET, err) != E_OK)
            return err->code;
    return E_OK;
}

enum err_code store_keys_remove(struct store *s, const struct stored_key *keys, size_t n,
                                struct err *err)
{
    struct db_value values[KEY_SET];

    for (size_t done = 0; done < n; done += KEY_SET) {
        struct db_rows rows = {values, n - done < KEY_SET ? n - done : KEY_SET, 1};

        for (size_t i = 0; i < rows.n_rows; i++)
            values[i] = db_t(keys[done + i].key);
        if (db_do(s->db, SQL_KEYS_REMOVE, err, db_r(&rows)) != E_OK)
            return err->code;
    }
    return E_OK;
}
