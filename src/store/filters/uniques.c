/* SPDX-License-Identifier: MIT */
#include "store/filters/uniques.h"

#include "base/clock.h"
#include "store/db/columns.h"
#include "store/internal.h"

enum { KEY_SET = 1000 }; /* keys of one statement */

static size_t set_size(size_t n, size_t done)
{
    return n - done < KEY_SET ? n - done : KEY_SET;
}

enum err_code store_uniques_lock(struct store *s, struct err *err)
{
    return s->shared ? db_rows(s->db, SQL_UNIQUES_LOCK, NULL, NULL, err) : E_OK;
}

/* ---- looking up ---- */

static void on_key(void *ctx, const struct db_row *row)
{
    struct stored_unique *k = (struct stored_unique *)ctx + db_col_int(row, 0);

    k->job = db_col_int(row, 1);
    k->for_us = db_col_int(row, 2);
    k->until_at = db_col_int(row, 3);
}

static enum err_code find_set(struct store *s, struct stored_unique *keys, size_t n,
                              struct err *err)
{
    struct db_value values[4 * KEY_SET];
    struct db_rows rows = {values, n, 4};

    for (size_t i = 0; i < n; i++) {
        values[4 * i] = db_i((int64_t)i);
        values[4 * i + 1] = db_i(keys[i].scope);
        values[4 * i + 2] = db_i(keys[i].hash[0]);
        values[4 * i + 3] = db_i(keys[i].hash[1]);
        keys[i].job = 0;
    }
    return db_rows(s->db, SQL_UNIQUES_FIND, on_key, keys, err, db_r(&rows));
}

enum err_code store_uniques_find(struct store *s, struct stored_unique *keys, size_t n,
                                 struct err *err)
{
    for (size_t done = 0; done < n; done += KEY_SET)
        if (find_set(s, keys + done, set_size(n, done), err) != E_OK)
            return err->code;
    return E_OK;
}

static void on_holder(void *ctx, const struct db_row *row)
{
    struct unique_holder *h = (struct unique_holder *)ctx + db_col_int(row, 0);
    int64_t state = db_col_int(row, 1);

    if (state <= JOB_NONE || state >= JOB_STATE_COUNT) {
        db_row_refuse(row, "job %lld has an impossible state", (long long)h->job);
        return;
    }
    h->state = (enum job_state)state;
    h->finished_at = db_col_int(row, 2);
}

static enum err_code holders_set(struct store *s, struct unique_holder *holders, size_t n,
                                 struct err *err)
{
    struct db_value values[2 * KEY_SET];
    struct db_rows rows = {values, n, 2};

    for (size_t i = 0; i < n; i++) {
        values[2 * i] = db_i((int64_t)i);
        values[2 * i + 1] = db_i(holders[i].job);
        holders[i].state = JOB_NONE;
    }
    return db_rows(s->db, SQL_UNIQUES_HOLDERS, on_holder, holders, err, db_r(&rows));
}

enum err_code store_uniques_holders(struct store *s, struct unique_holder *holders, size_t n,
                                    struct err *err)
{
    for (size_t done = 0; done < n; done += KEY_SET)
        if (holders_set(s, holders + done, set_size(n, done), err) != E_OK)
            return err->code;
    return E_OK;
}

/* ---- writing ---- */

static enum err_code put_set(struct store *s, const struct stored_unique *keys, size_t n,
                             struct err *err)
{
    struct db_value values[7 * KEY_SET];
    struct db_rows rows = {values, n, 7};

    for (size_t i = 0; i < n; i++) {
        struct db_value *v = values + 7 * i;

        v[0] = db_i(keys[i].scope);
        v[1] = db_i(keys[i].hash[0]);
        v[2] = db_i(keys[i].hash[1]);
        v[3] = db_i(keys[i].job);
        v[4] = db_i(keys[i].queue);
        v[5] = db_i(keys[i].for_us);
        v[6] = db_i(keys[i].until_at);
    }
    return db_do(s->db, SQL_UNIQUES_PUT, err, db_r(&rows));
}

enum err_code store_uniques_put(struct store *s, const struct stored_unique *keys, size_t n,
                                struct err *err)
{
    for (size_t done = 0; done < n; done += KEY_SET)
        if (put_set(s, keys + done, set_size(n, done), err) != E_OK)
            return err->code;
    return E_OK;
}

enum err_code store_unique_remove(struct store *s, const struct stored_unique *key, struct err *err)
{
    return db_do(s->db, SQL_UNIQUES_REMOVE, err, db_i(key->scope), db_i(key->hash[0]),
                 db_i(key->hash[1]));
}

/* ---- keys that end ---- */

static const struct db_column key_columns[] = {
    DB_NUMBER(stored_unique, scope),    DB_NUMBER(stored_unique, hash[0]),
    DB_NUMBER(stored_unique, hash[1]),  DB_NUMBER(stored_unique, job),
    DB_NUMBER(stored_unique, queue),    DB_NUMBER(stored_unique, for_us),
    DB_NUMBER(stored_unique, until_at),
};
static const struct db_table key_table = DB_TABLE("unique key", stored_unique, key_columns);

struct due {
    struct stored_unique *keys;
    size_t n, max;
};

static void take_due(void *ctx, const struct stored_unique *key)
{
    struct due *due = ctx;

    if (due->n < due->max)
        due->keys[due->n++] = *key;
}

DB_EACH_FN(each_key, stored_unique, key_table)

enum err_code store_uniques_due(struct store *s, int64_t now_at, struct stored_unique *ret_keys,
                                size_t max, size_t *ret_n, struct err *err)
{
    struct due due = {.keys = ret_keys, .max = max};

    if (each_key(s->db, SQL_UNIQUES_DUE, DB_ARGS(db_i(now_at), db_i((int64_t)max)), take_due, &due,
                 err) != E_OK)
        return err->code;
    *ret_n = due.n;
    return E_OK;
}

enum err_code store_uniques_next(struct store *s, int64_t *ret_at, struct err *err)
{
    int64_t at = 0;

    if (db_number(s->db, SQL_UNIQUES_NEXT, &at, err) != E_OK)
        return err->code;
    *ret_at = at == 0 ? TIME_NEVER : at;
    return E_OK;
}

enum err_code store_scope_gone(struct store *s, int64_t scope, struct err *err)
{
    return db_do(s->db, SQL_GONE_SCOPE_ADD, err, db_i(scope));
}

enum err_code store_scopes_are_gone(struct store *s, bool *ret_are, struct err *err)
{
    return db_exists(s->db, SQL_GONE_SCOPE_ANY, ret_are, err);
}

enum err_code store_scopes_cut(struct store *s, size_t max, struct err *err)
{
    for (int64_t left = (int64_t)max; left > 0;) {
        int64_t scope = 0;
        int64_t removed = 0;

        if (db_number(s->db, SQL_GONE_SCOPE_FIRST, &scope, err) != E_OK)
            return err->code;
        if (scope == 0) /* none is left */
            return E_OK;
        if (db_change(s->db, SQL_GONE_SCOPE_CUT, &removed, err, db_i(scope), db_i(left)) != E_OK)
            return err->code;
        if (removed < left && db_do(s->db, SQL_GONE_SCOPE_REMOVE, err, db_i(scope)) != E_OK)
            return err->code;
        left -= removed + 1; /* the scope itself */
    }
    return E_OK;
}
