/* SPDX-License-Identifier: MIT */
#include "store/postgres/postgres.h"

#include <stdlib.h>
#include <string.h>

#include "store/postgres/errors.h"

/* ---- losing the connection and having it again ---- */

static void mark_away(struct pg_db *pg, bool away)
{
    atomic_store_explicit(&pg->base.away, away, memory_order_relaxed);
}

static void lose(struct pg_db *pg, const char *why)
{
    pg_link_drop(&pg->link, why);
    VEC_CLEAR(&pg->posted);
    mark_away(pg, true);
    if (pg->tx != PG_TX_NONE)
        pg->tx = PG_TX_LOST;
}

enum err_code pg_fail(struct pg_db *pg, const PGresult *result, struct err *err)
{
    struct pg_failure f = pg_explain(pg->link.conn, result, err);

    if (f.meaning == PG_LOST)
        lose(pg, err->msg);
    pg->base.conflict = f.meaning == PG_CONFLICT;
    pg->base.busy = f.meaning == PG_BUSY;
    pg->base.refused = f.meaning == PG_REFUSED;
    /* Only readers have a limit of ours; a writer was stopped by somebody's order. */
    if (f.code == E_TOO_SLOW && !pg->link.session.read_only)
        return err_set(err, E_UNAVAILABLE, "the database has cancelled the statement");
    return f.code;
}

enum err_code pg_connect(struct pg_db *pg, struct err *err)
{
    if (pg->link.conn != NULL)
        return E_OK;
    for (int i = 0; i < pg->host->n_texts; i++)
        pg->statements[i].prepared = false;
    enum err_code code = pg_link_up(&pg->link, err);

    mark_away(pg, code != E_OK);
    return code;
}

enum err_code pg_script(struct pg_db *pg, const char *text, struct err *err)
{
    PGresult *result = PQexec(pg->link.conn, text);
    ExecStatusType status = PQresultStatus(result);
    enum err_code code = E_OK;

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY)
        code = pg_fail(pg, result, err);
    PQclear(result);
    return code;
}

/* ---- transactions ---- */

static enum err_code pg_begin(struct db *db, struct err *err)
{
    struct pg_db *pg = pg_of(db);

    if (pg_connect(pg, err) != E_OK)
        return err->code;
    pg->tx = PG_TX_WANTED;
    return E_OK;
}

/* Faults of tests: the connection ends before the commit is sent, or before it is answered. */
static bool cut(struct pg_db *pg, const char *where)
{
    if (!pg->host->fault_hit(where))
        return false;
    lose(pg, "a fault of a test");
    return true;
}

/* Sent behind the posted statements: if one of those fails, the server skips the commit. */
static enum err_code send_commit(struct pg_db *pg, struct err *err)
{
    if (cut(pg, "commit.cut"))
        return err_set(err, E_UNAVAILABLE, "fault in the commit");
    if (pg_post_commit(pg, err) != E_OK)
        return err->code;
    if (pg->host->fault_hit("commit.left")) { /* the backend continues alone */
        (void)PQpipelineSync(pg->link.conn);
        lose(pg, "a fault of a test");
        return err_set(err, E_UNAVAILABLE, "fault in front of the answer");
    }
    if (pg_settle(pg, err) != E_OK)
        return err->code;
    if (cut(pg, "commit.lost"))
        return err_set(err, E_UNAVAILABLE, "fault behind the commit");
    return E_OK;
}

static enum err_code pg_commit(struct db *db, enum db_sync when, struct err *err)
{
    struct pg_db *pg = pg_of(db);

    (void)when; /* the database syncs before it answers */
    if (pg->tx == PG_TX_LOST)
        return err_set(err, E_UNAVAILABLE, "the transaction was lost with its connection: %s",
                       pg->link.why);
    enum err_code code = pg->tx == PG_TX_OPEN ? send_commit(pg, err) : E_OK;

    pg->base.commit_unknown = pg->tx == PG_TX_LOST;
    if (code == E_OK || pg->tx == PG_TX_LOST) /* else the rest is for a rollback */
        pg->tx = PG_TX_NONE;
    return code;
}

static void pg_rollback(struct db *db)
{
    struct pg_db *pg = pg_of(db);
    struct err ignored =
        ERR_INIT; /* a connection that fails here is dropped, and its transaction with it */

    (void)(pg_settle(pg, &ignored) == E_OK);
    if (pg->tx == PG_TX_OPEN && pg_script(pg, "ROLLBACK", &ignored) != E_OK &&
        pg->link.conn != NULL)
        lose(pg, ignored.msg);
    pg->tx = PG_TX_NONE;
}

/* ---- opening and closing ---- */

static void pg_close(struct db *db, enum db_close how)
{
    struct pg_db *pg = pg_of(db);

    (void)how;
    pg_link_deinit(&pg->link);
    for (int i = 0; i < pg->host->n_texts; i++)
        free(pg->statements[i].types);
    free(pg->statements);
    VEC_DEINIT(&pg->posted);
    pg_params_deinit(&pg->params);
    free(pg);
}

static enum err_code pg_open(const struct db_config *config, struct db **ret_db, struct err *err)
{
    struct pg_db *pg = mem_zalloc(sizeof(*pg));

    pg->base.driver = &pg_driver;
    pg->host = config->host;
    pg->statements = mem_zalloc(sizeof(*pg->statements) * (size_t)config->host->n_texts);
    pg_params_init(&pg->params);
    pg_link_init(&pg->link, config->url,
                 &(struct pg_session){config->read_only, config->read_limit_us});
    if (pg_connect(pg, err) != E_OK) {
        pg_close(&pg->base, DB_CLOSE_PLAIN);
        return err->code;
    }
    *ret_db = &pg->base;
    return E_OK;
}

const struct db_driver pg_driver = {
    .run = pg_run,
    .post = pg_post,
    .begin = pg_begin,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .close = pg_close,
    .col_int = pg_col_int,
    .col_text = pg_col_text,
    .col_blob = pg_col_blob,
    .col_null = pg_col_null,
    .migrate = pg_migrate,
    .facts = pg_facts,
};

static const struct db_module pg_module = {
    .version = WAYBILL_VERSION,
    .seam = DB_SEAM,
    .open = pg_open,
    .listener_open = pg_listener_open,
    .listener_wait = pg_listener_wait,
    .listener_close = pg_listener_close,
};

/* The only name that others see: DB_MODULE_SYMBOL. */
__attribute__((visibility("default"))) const struct db_module *waybill_db_module(void);

const struct db_module *waybill_db_module(void)
{
    return &pg_module;
}
