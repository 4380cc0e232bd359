/*
 * The schema's version, and the way to a newer one: all migrations in one transaction, under a lock
 * that makes the others wait.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/postgres/postgres.h"

enum { UPDATE_MAX = 200 };

/* Held by whoever migrates; the schema's own number tells stores of one database apart. */
static const char lock_text[] =
    "BEGIN; SET LOCAL lock_timeout = '10min'; SET LOCAL idle_in_transaction_session_timeout = 0;"
    "SELECT pg_advisory_xact_lock(hashtextextended('waybill.migrate.' || current_schema(), 0))";

static int newest_migration(const struct db_host *host)
{
    int newest = 0;

    for (int i = 0; i < host->n_migrations; i++)
        if (strcmp(host->migrations[i].store, "postgres") == 0 &&
            host->migrations[i].number > newest)
            newest = host->migrations[i].number;
    return newest;
}

/* The first column of the first row, as a number; 0 when there is none. */
static enum err_code ask_int(struct pg_db *pg, const char *text, int64_t *ret, struct err *err)
{
    PGresult *result = PQexec(pg->link.conn, text);
    enum err_code code = PQresultStatus(result) == PGRES_TUPLES_OK ? E_OK
                                                                   : pg_fail(pg, result, err);

    if (code == E_OK && PQntuples(result) > 0)
        *ret = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return code;
}

/* 0: there is no store yet. */
static enum err_code read_version(struct pg_db *pg, int64_t *ret_version, struct err *err)
{
    int64_t there = 0;

    *ret_version = 0;
    if (ask_int(pg,
                "SELECT COUNT(*) FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n"
                " ON n.oid = c.relnamespace"
                " WHERE n.nspname = current_schema() AND c.relname = 'meta'",
                &there, err) != E_OK)
        return err->code;
    if (there == 0)
        return E_OK;
    if (ask_int(pg, "SELECT value FROM meta WHERE key = 'version'", ret_version, err) == E_OK &&
        *ret_version > 0)
        return E_OK;
    if (pg->link.conn == NULL)
        return err->code;
    return err_set(err, E_UNAVAILABLE,
                   "the schema has a table `meta` that is not waybill's: give it a database or a "
                   "schema of its own");
}

static enum err_code check_version(struct pg_db *pg, int64_t version, struct err *err)
{
    int newest = newest_migration(pg->host);

    if (version > newest)
        return err_set(err, E_UNAVAILABLE,
                       "the store is of version %lld, this waybill knows only up to %d: use the "
                       "newer waybill",
                       (long long)version, newest);
    if (version == 0 && pg->link.session.read_only)
        return err_set(err, E_UNAVAILABLE,
                       "the database holds no store yet: start a server on it first");
    return E_OK;
}

static enum err_code run_migrations(struct pg_db *pg, int64_t above, struct err *err)
{
    for (int i = 0; i < pg->host->n_migrations; i++) {
        const struct sql_migration *m = &pg->host->migrations[i];
        CLEANUP(buf) struct buf update = BUF_INIT(UPDATE_MAX);

        if (strcmp(m->store, "postgres") != 0 || m->number <= above)
            continue;
        buf_addf(&update,
                 "INSERT INTO meta (key, value) VALUES ('version', %d)"
                 " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                 m->number);
        if (pg_script(pg, m->text, err) != E_OK || pg_script(pg, buf_text(&update), err) != E_OK)
            return err_wrap(err, "migration %04d_%s", m->number, m->name);
    }
    return E_OK;
}

enum err_code pg_migrate(struct db *db, int *ret_version, struct err *err)
{
    struct pg_db *pg = pg_of(db);
    int newest = newest_migration(pg->host);
    int64_t version = 0;

    if (pg_connect(pg, err) != E_OK || read_version(pg, &version, err) != E_OK ||
        check_version(pg, version, err) != E_OK)
        return err->code;
    if (!pg->link.session.read_only && version < newest) {
        struct err ignored = ERR_INIT;

        /* A server that waited for the lock finds the migrations done: it reads again. */
        if (pg_script(pg, lock_text, err) != E_OK || read_version(pg, &version, err) != E_OK ||
            check_version(pg, version, err) != E_OK || run_migrations(pg, version, err) != E_OK ||
            pg_script(pg, "COMMIT", err) != E_OK) {
            if (pg->link.conn != NULL)
                (void)!pg_script(pg, "ROLLBACK", &ignored);
            return err->code;
        }
        version = newest;
    }
    *ret_version = (int)version;
    return E_OK;
}

static void take_bytes(void *ctx, const struct db_row *row)
{
    *(int64_t *)ctx = db_col_int(row, 0);
}

enum err_code pg_facts(struct db *db, struct store_facts *ret_facts, struct err *err)
{
    int64_t bytes = 0;
    struct db_call call = {.sql = SQL_DATABASE_SIZE, .on_row = take_bytes, .ctx = &bytes};

    if (db_run(db, &call, 1, err) != E_OK)
        return err->code;
    *ret_facts = (struct store_facts){.bytes = bytes};
    return E_OK;
}
