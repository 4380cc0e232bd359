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

enum err_code db_commit(struct db *db, struct err *err)
{
    if (fault_hit("commit.before"))
        return err_set(err, E_UNAVAILABLE, "store: fault before the commit");
    if (db->driver->commit(db, err) != E_OK)
        return err->code;
    (void)fault_hit("commit.after");
    return E_OK;
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

static enum err_code tell_flaw(struct db *db, struct err *err)
{
    err_set(err, E_INTERNAL, "the store is damaged: %s", db->flaw);
    err->bad_row = true;
    db->flaw[0] = '\0';
    return err->code;
}

void db_close(struct db *db, enum db_close how)
{
    if (db != NULL)
        db->driver->close(db, how);
}

enum err_code db_post(struct db *db, enum sql sql, const struct db_value *args, size_t n_args,
                      struct err *err)
{
    struct db_call call = {.sql = sql, .args = args, .n_args = n_args};

    db->statements++;
    return db->driver->post(db, &call, err);
}

enum err_code db_one(struct db *db, enum sql sql, const struct db_value *args, size_t n_args,
                     struct db_taker *taker, struct err *err)
{
    struct db_call call = {
        .sql = sql, .args = args, .n_args = n_args, .on_row = taker->on_row, .ctx = taker->ctx};
    enum err_code code = db_run(db, &call, 1, err);

    taker->changed = call.changed;
    return db->flaw[0] == '\0' ? code : tell_flaw(db, err);
}
