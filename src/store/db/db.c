/* SPDX-License-Identifier: MIT */
#include "store/db/db.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/os/fault.h"
#include "store/damage.h"

enum err_code db_begin(struct db *db, struct err *err)
{
    db->conflict = db->refused = db->busy = false;
    db->commit_unknown = false;
    db->flaw[0] = '\0';
    return db->driver->begin(db, err);
}

enum err_code db_commit(struct db *db, enum db_sync when, struct err *err)
{
    if (fault_hit("commit.before"))
        return err_set(err, E_UNAVAILABLE, "store: fault before the commit");
    if (db->driver->commit(db, when, err) != E_OK)
        return err->code;
    (void)fault_hit("commit.after");
    return E_OK;
}

enum err_code db_sync(struct db *db, struct err *err)
{
    return db->driver->sync == NULL ? E_OK : db->driver->sync(db, err);
}

bool db_owes_sync(struct db *db)
{
    return db->driver->owes_sync != NULL && db->driver->owes_sync(db);
}

void db_rollback(struct db *db)
{
    db->driver->rollback(db);
}

void db_row_refuse(const struct db_row *row, const char *fmt, ...)
{
    va_list args;

    if (row->db->flaw[0] != '\0')
        return;
    va_start(args, fmt);
    (void)vsnprintf(row->db->flaw, sizeof(row->db->flaw), fmt, args);
    va_end(args);
    damage_note(row->db->damage, "%s", row->db->flaw);
}

void db_close(struct db *db, enum db_close how)
{
    if (db != NULL)
        db->driver->close(db, how);
}

enum err_code db_post(struct db *db, enum sql sql, struct db_args args, struct err *err)
{
    struct db_call call = {.sql = sql, .args = args.values, .n_args = args.n};

    db->statements++;
    return db->driver->post(db, &call, err);
}

enum err_code db_query(struct db *db, struct db_call *call, struct err *err)
{
    enum err_code code = db_run(db, call, 1, err);

    if (db->flaw[0] == '\0')
        return code;
    err_set(err, E_INTERNAL, "the store is damaged: %s", db->flaw);
    err->bad_row = true;
    db->flaw[0] = '\0';
    return err->code;
}

enum err_code db_call_rows(struct db *db, enum sql sql, struct db_args args,
                           const struct db_reader *reader, struct err *err)
{
    struct db_call call = {.sql = sql,
                           .args = args.values,
                           .n_args = args.n,
                           .on_row = reader->on_row,
                           .ctx = reader->ctx};

    return db_query(db, &call, err);
}

enum err_code db_call_change(struct db *db, enum sql sql, struct db_args args, int64_t *ret_changed,
                             struct err *err)
{
    struct db_call call = {.sql = sql, .args = args.values, .n_args = args.n};

    if (db_query(db, &call, err) != E_OK)
        return err->code;
    *ret_changed = call.changed;
    return E_OK;
}

static void on_number(void *ctx, const struct db_row *row)
{
    *(int64_t *)ctx = db_col_int(row, 0);
}

enum err_code db_call_number(struct db *db, enum sql sql, struct db_args args, int64_t if_none,
                             int64_t *ret_number, struct err *err)
{
    int64_t number = if_none;

    if (db_call_rows(db, sql, args, &(struct db_reader){on_number, &number}, err) != E_OK)
        return err->code;
    *ret_number = number;
    return E_OK;
}

struct numbers {
    int64_t *items;
    size_t n;
};

static void on_next_number(void *ctx, const struct db_row *row)
{
    struct numbers *t = ctx;

    t->items[t->n++] = db_col_int(row, 0);
}

enum err_code db_call_numbers(struct db *db, enum sql sql, struct db_args args,
                              int64_t *ret_numbers, size_t *ret_n, struct err *err)
{
    struct numbers t = {.items = ret_numbers};

    if (db_call_rows(db, sql, args, &(struct db_reader){on_next_number, &t}, err) != E_OK)
        return err->code;
    *ret_n = t.n;
    return E_OK;
}

static void on_any(void *ctx, const struct db_row *row)
{
    (void)row;
    *(bool *)ctx = true;
}

enum err_code db_call_exists(struct db *db, enum sql sql, struct db_args args, bool *ret_exists,
                             struct err *err)
{
    bool exists = false;

    if (db_call_rows(db, sql, args, &(struct db_reader){on_any, &exists}, err) != E_OK)
        return err->code;
    *ret_exists = exists;
    return E_OK;
}
