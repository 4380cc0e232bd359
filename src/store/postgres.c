/* SPDX-License-Identifier: MIT */
#include "store/postgres.h"

#include <stdlib.h>
#include <string.h>

#include "store/postgres_errors.h"

static const struct db_driver pg_driver;

/* ---- losing the connection and having it again ---- */

static void mark_away(struct pg_db *pg, bool away)
{
    atomic_store_explicit(&pg->base.away, away, memory_order_relaxed);
}

static void lose(struct pg_db *pg, const char *why)
{
    pg_link_drop(&pg->link, why);
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

/* ---- statements ---- */

static enum err_code check_columns(const struct sql_text *text, const PGresult *description,
                                   struct err *err)
{
    for (int i = 0; i < PQnfields(description); i++)
        if (!pg_type_is_known(PQftype(description, i)))
            return err_set(err, E_INTERNAL, "statement %s: column %d is of type %u: cast it",
                           text->name, i, PQftype(description, i));
    return E_OK;
}

/* What types its parameters have: asked once, they stay what they are. */
static enum err_code describe(struct pg_db *pg, enum sql sql, struct err *err)
{
    struct pg_statement *st = &pg->statements[sql];
    PGresult *result = PQdescribePrepared(pg->link.conn, pg->host->texts[sql].name);
    enum err_code code = E_OK;

    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        code = pg_fail(pg, result, err);
    else
        code = check_columns(&pg->host->texts[sql], result, err);
    if (code == E_OK) {
        st->n_params = PQnparams(result);
        st->types = mem_zalloc(sizeof(Oid) * ((size_t)st->n_params + 1));
        for (int i = 0; i < st->n_params; i++)
            st->types[i] = PQparamtype(result, i);
    }
    PQclear(result);
    return code;
}

static enum err_code prepare(struct pg_db *pg, enum sql sql, struct err *err)
{
    const struct sql_text *text = &pg->host->texts[sql];
    struct pg_statement *st = &pg->statements[sql];

    if (text->postgres == NULL)
        return err_set(err, E_INTERNAL, "statement %s is not for PostgreSQL", text->name);
    PGresult *result = PQprepare(pg->link.conn, text->name, text->postgres, 0, NULL);
    enum err_code code = PQresultStatus(result) == PGRES_COMMAND_OK ? E_OK
                                                                    : pg_fail(pg, result, err);

    PQclear(result);
    if (code == E_OK && st->types == NULL)
        code = describe(pg, sql, err);
    if (code != E_OK)
        return err_wrap(err, "statement %s", text->name);
    st->prepared = true;
    return E_OK;
}

/* How many rows it has changed; reading changes none. */
static int64_t changed_by(PGresult *result)
{
    if (strncmp(PQcmdStatus(result), "SELECT", 6) == 0)
        return 0;
    return strtoll(PQcmdTuples(result), NULL, 10);
}

static enum err_code take_result(struct pg_db *pg, struct db_call *call, PGresult *result,
                                 struct err *err)
{
    struct pg_row row = {.base = {&pg_driver}, .result = result};
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        pg_fail(pg, result, err);
        return err_wrap(err, "%s", pg->host->texts[call->sql].name);
    }
    call->changed = changed_by(result);
    for (int n = PQntuples(result); row.at < n && call->on_row != NULL; row.at++)
        call->on_row(call->ctx, &row.base);
    return E_OK;
}

/* ---- running ---- */

struct run {
    struct db_call *calls;
    size_t n;
    bool begins; /* the transaction goes before them */
    size_t sent;
    bool answered; /* something of it was: it cannot be repeated */
};

static enum err_code set_params(struct pg_db *pg, const struct db_call *call, struct err *err)
{
    const struct pg_statement *st = &pg->statements[call->sql];

    if (pg_params_set(&pg->params, call, st->types, st->n_params, err) != E_OK)
        return err_wrap(err, "%s", pg->host->texts[call->sql].name);
    return E_OK;
}

static enum err_code run_single(struct pg_db *pg, struct run *run, struct err *err)
{
    struct db_call *call = run->calls;
    const struct pg_params *p = &pg->params;

    if (set_params(pg, call, err) != E_OK)
        return err->code;
    PGresult *result = PQexecPrepared(pg->link.conn, pg->host->texts[call->sql].name, p->count,
                                      p->values, p->lengths, p->formats, 1);
    enum err_code code = take_result(pg, call, result, err);

    run->answered = code == E_OK;
    PQclear(result);
    return code;
}

static const char *begin_text(const struct pg_db *pg)
{
    enum sql sql = pg->link.session.read_only ? SQL_BEGIN_READ : SQL_BEGIN_WRITE;

    return pg->host->texts[sql].postgres;
}

static enum err_code send_all(struct pg_db *pg, struct run *run, struct err *err)
{
    PGconn *conn = pg->link.conn;
    const struct pg_params *p = &pg->params;

    if (run->begins && !PQsendQueryParams(conn, begin_text(pg), 0, NULL, NULL, NULL, NULL, 1))
        return pg_fail(pg, NULL, err);
    for (; run->sent < run->n; run->sent++) {
        const struct db_call *call = &run->calls[run->sent];

        if (set_params(pg, call, err) != E_OK)
            return err->code;
        if (!PQsendQueryPrepared(conn, pg->host->texts[call->sql].name, p->count, p->values,
                                 p->lengths, p->formats, 1))
            return pg_fail(pg, NULL, err);
    }
    return E_OK;
}

static enum err_code take_begun(struct pg_db *pg, const PGresult *result, struct err *err)
{
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        return pg_fail(pg, result, err);
    pg->tx = PG_TX_OPEN;
    return E_OK;
}

/* One answer and the NULL behind it; call NULL: the begin's.  Behind an error nothing is taken any more. */
static enum err_code take_answer(struct pg_db *pg, struct db_call *call, enum err_code code,
                                 struct err *err)
{
    PGresult *result = PQgetResult(pg->link.conn);

    if (code == E_OK)
        code = call == NULL ? take_begun(pg, result, err) : take_result(pg, call, result, err);
    PQclear(result);
    if (pg->link.conn != NULL)
        PQclear(PQgetResult(pg->link.conn));
    return code;
}

static enum err_code take_all(struct pg_db *pg, struct run *run, struct err *err)
{
    enum err_code code = run->begins ? take_answer(pg, NULL, E_OK, err) : E_OK;

    run->answered = code == E_OK && run->begins;
    for (size_t i = 0; i < run->sent && pg->link.conn != NULL; i++) {
        code = take_answer(pg, &run->calls[i], code, err);
        run->answered = run->answered || code == E_OK;
    }
    return code;
}

/* The end of the pipeline's answers. */
static enum err_code take_sync(struct pg_db *pg, struct err *err)
{
    PGresult *result = PQgetResult(pg->link.conn);
    bool synced = PQresultStatus(result) == PGRES_PIPELINE_SYNC;

    PQclear(result);
    return synced && PQexitPipelineMode(pg->link.conn) ? E_OK : pg_fail(pg, NULL, err);
}

static enum err_code run_pipeline(struct pg_db *pg, struct run *run, struct err *err)
{
    struct err late = ERR_INIT;

    if (!PQenterPipelineMode(pg->link.conn))
        return pg_fail(pg, NULL, err);
    enum err_code code = send_all(pg, run, err);

    if (pg->link.conn == NULL)
        return code;
    if (!PQpipelineSync(pg->link.conn))
        return pg_fail(pg, NULL, err);
    struct err *first = code == E_OK ? err : &late; /* the error that came first is told */
    enum err_code taken = take_all(pg, run, first);

    if (code == E_OK)
        code = taken;
    if (pg->link.conn != NULL && take_sync(pg, code == E_OK ? err : &late) != E_OK && code == E_OK)
        code = err->code;
    return code;
}

static enum err_code run_once(struct pg_db *pg, struct run *run, struct err *err)
{
    for (size_t i = 0; i < run->n; i++)
        if (!pg->statements[run->calls[i].sql].prepared &&
            prepare(pg, run->calls[i].sql, err) != E_OK)
            return err->code;
    if (run->n == 1 && !run->begins)
        return run_single(pg, run, err);
    return run_pipeline(pg, run, err);
}

/* A connection may have died while nobody looked.  What has not begun can begin again, and a reader's question
 * can be asked again. */
static bool may_repeat(const struct pg_db *pg, const struct run *run)
{
    return pg->link.conn == NULL && !run->answered &&
           (run->begins || (pg->tx == PG_TX_NONE && pg->link.session.read_only));
}

static enum err_code pg_run(struct db *db, struct db_call *calls, size_t n, struct err *err)
{
    struct pg_db *pg = pg_of(db);
    struct run run = {.calls = calls, .n = n, .begins = pg->tx == PG_TX_WANTED};

    if (pg->tx == PG_TX_LOST)
        return err_set(err, E_UNAVAILABLE, "the transaction was lost with its connection: %s",
                       pg->link.why);
    bool was_up = pg->link.conn != NULL;

    if (n == 0)
        return E_OK;
    if (pg_connect(pg, err) != E_OK)
        return err->code;
    enum err_code code = run_once(pg, &run, err);

    if (code != E_OK && was_up && may_repeat(pg, &run) && pg_connect(pg, err) == E_OK) {
        struct run again = {.calls = calls, .n = n, .begins = run.begins};

        pg->tx = run.begins ? PG_TX_WANTED : PG_TX_NONE;
        code = run_once(pg, &again, err);
    }
    pg_params_rest(&pg->params);
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

static enum err_code send_commit(struct pg_db *pg, struct err *err)
{
    if (cut(pg, "commit.cut"))
        return err_set(err, E_UNAVAILABLE, "fault in the commit");
    PGresult *result = PQexec(pg->link.conn, "COMMIT");
    enum err_code code = E_OK;

    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        code = pg_fail(pg, result, err);
    else if (strcmp(PQcmdStatus(result), "COMMIT") != 0) /* ROLLBACK: something in it had failed */
        code = err_set(err, E_INTERNAL, "store: a failed transaction was to be committed");
    else if (cut(pg, "commit.lost"))
        code = err_set(err, E_UNAVAILABLE, "fault behind the commit");
    PQclear(result);
    return code;
}

static enum err_code pg_commit(struct db *db, struct err *err)
{
    struct pg_db *pg = pg_of(db);

    if (pg->tx == PG_TX_LOST)
        return err_set(err, E_UNAVAILABLE, "the transaction was lost with its connection: %s",
                       pg->link.why);
    enum err_code code = pg->tx == PG_TX_OPEN ? send_commit(pg, err) : E_OK;

    pg->base.commit_unknown = code != E_OK && pg->tx == PG_TX_LOST;
    pg->tx = PG_TX_NONE;
    return code;
}

static void pg_rollback(struct db *db)
{
    struct pg_db *pg = pg_of(db);
    struct err ignored =
        ERR_INIT; /* a connection that fails here is dropped, and its transaction with it */

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

static const struct db_driver pg_driver = {
    .run = pg_run,
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
