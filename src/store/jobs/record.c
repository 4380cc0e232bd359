/* SPDX-License-Identifier: MIT */
#include "store/jobs/record.h"

#include <string.h>

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

/* ---- keys ---- */

/* One statement for so many; how often a key that was lost may be gone again when it is looked for. */
enum { KEY_SET = 1000, KEY_TRIES = 5 };

static void take_key(void *ctx, const struct db_row *row)
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
    return db_do_rows(s->db, SQL_KEYS_FIND, take_key, keys, err, db_r(&rows));
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
    const struct db_value args[] = {db_r(&rows)};
    struct db_taker taker = {0};

    for (size_t i = 0; i < n; i++) {
        values[3 * i] = db_t(keys[i].key);
        values[3 * i + 1] = db_i(keys[i].job);
        values[3 * i + 2] = db_i((int64_t)keys[i].content);
    }
    if (db_one(s->db, SQL_KEYS_ADD, args, ARRAY_LEN(args), &taker, err) != E_OK)
        return err->code;
    *ret_all = taker.changed == (int64_t)n;
    return E_OK;
}

/* Who has the keys of the set.  One that was lost to a job which is gone by now belongs to nobody: it is tried again. */
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
