/*
 * Statements of PostgreSQL: prepared on first use, sent alone or in a pipeline, answered in order.
 *
 * What is posted is sent at once and not waited for: the server works on it while we go on.  Its
 * answers are taken before those of the next run, and an error among them is that run's error.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "store/postgres/postgres.h"

/* ---- preparing ---- */

/* Reads the types of the parameters, once: they do not change. */
static enum err_code describe(struct pg_db *pg, enum sql sql, struct err *err)
{
    struct pg_statement *st = &pg->statements[sql];
    PGresult *result = PQdescribePrepared(pg->link.conn, pg->host->texts[sql].name);
    enum err_code code = PQresultStatus(result) == PGRES_COMMAND_OK ? E_OK
                                                                    : pg_fail(pg, result, err);

    for (int i = 0; i < PQnfields(result) && code == E_OK; i++)
        if (!pg_type_is_known(PQftype(result, i)))
            code = err_set(err, E_INTERNAL, "statement %s: column %d is of type %u: cast it",
                           pg->host->texts[sql].name, i, PQftype(result, i));
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

/* ---- answers ---- */

static enum err_code check_answer(struct pg_db *pg, enum sql sql, const PGresult *result,
                                  struct err *err)
{
    ExecStatusType status = PQresultStatus(result);

    if (sql == SQL_COMMIT && status == PGRES_COMMAND_OK &&
        strcmp(PQcmdStatus((PGresult *)(uintptr_t)result), "COMMIT") != 0)
        return err_set(err, E_INTERNAL, "store: a failed transaction was to be committed");
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
        return E_OK;
    pg_fail(pg, result, err);
    /* People know no statements: its name is for faults of ours. */
    return err->code == E_INTERNAL ? err_wrap(err, "%s", pg->host->texts[sql].name) : err->code;
}

static void hand_over(struct pg_db *pg, struct db_call *call, PGresult *result)
{
    struct pg_row row = {.base = {&pg_driver, &pg->base}, .result = result};

    call->changed = strncmp(PQcmdStatus(result), "SELECT", 6) == 0 /* reading changes none */
                        ? 0
                        : strtoll(PQcmdTuples(result), NULL, 10);
    for (int n = PQntuples(result); row.at < n && call->on_row != NULL; row.at++)
        call->on_row(call->ctx, &row.base);
}

/* ---- running ---- */

struct run {
    struct db_call *calls;
    size_t n;
    bool begins; /* the transaction goes before them */
    size_t sent;
    bool answered; /* something of it was: it cannot be repeated */
    PGresult *
        *results; /* of the calls; handed over when the pipeline is empty again: takers may call */
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
    enum err_code code = check_answer(pg, call->sql, result, err);

    if (code == E_OK)
        hand_over(pg, call, result);
    PQclear(result);
    return code;
}

static enum err_code enter_pipeline(struct pg_db *pg, struct err *err)
{
    if (PQpipelineStatus(pg->link.conn) != PQ_PIPELINE_OFF || PQenterPipelineMode(pg->link.conn))
        return E_OK;
    return pg_fail(pg, NULL, err);
}

/* With the parameters that are set. */
static enum err_code send_call(struct pg_db *pg, const struct db_call *call, struct err *err)
{
    const struct pg_params *p = &pg->params;

    if (PQsendQueryPrepared(pg->link.conn, pg->host->texts[call->sql].name, p->count, p->values,
                            p->lengths, p->formats, 1))
        return E_OK;
    return pg_fail(pg, NULL, err);
}

/* BEGIN and COMMIT: nothing to prepare. */
static enum err_code send_bare(struct pg_db *pg, enum sql sql, struct err *err)
{
    if (PQsendQueryParams(pg->link.conn, pg->host->texts[sql].postgres, 0, NULL, NULL, NULL, NULL,
                          1))
        return E_OK;
    return pg_fail(pg, NULL, err);
}

static enum err_code send_all(struct pg_db *pg, struct run *run, struct err *err)
{
    enum sql begin = pg->link.session.read_only ? SQL_BEGIN_READ : SQL_BEGIN_WRITE;

    if (run->begins && send_bare(pg, begin, err) != E_OK)
        return err->code;
    for (; run->sent < run->n; run->sent++)
        if (set_params(pg, &run->calls[run->sent], err) != E_OK ||
            send_call(pg, &run->calls[run->sent], err) != E_OK)
            return err->code;
    return E_OK;
}

/* One answer and the NULL behind it.  Behind an error there are only echoes of it. */
static PGresult *next_answer(struct pg_db *pg, enum sql sql, enum err_code *code, struct err *err)
{
    PGresult *result = PQgetResult(pg->link.conn);

    if (*code == E_OK)
        *code = check_answer(pg, sql, result, err);
    if (pg->link.conn != NULL)
        PQclear(PQgetResult(pg->link.conn));
    if (*code == E_OK)
        return result;
    PQclear(result);
    return NULL;
}

static enum err_code take_answers(struct pg_db *pg, struct run *run, struct err *err)
{
    enum err_code code = E_OK;

    for (size_t i = 0; i < pg->posted.count && pg->link.conn != NULL; i++)
        PQclear(next_answer(pg, pg->posted.items[i], &code, err));
    if (run->begins && pg->link.conn != NULL) {
        PQclear(next_answer(pg, SQL_BEGIN_WRITE, &code, err));
        run->answered = code == E_OK;
        if (code == E_OK)
            pg->tx = PG_TX_OPEN;
    }
    for (size_t i = 0; i < run->sent && pg->link.conn != NULL; i++) {
        run->results[i] = next_answer(pg, run->calls[i].sql, &code, err);
        run->answered = run->answered || code == E_OK;
    }
    return code;
}

/* Waits for all answers and returns the first error. */
static enum err_code settle(struct pg_db *pg, struct run *run, struct err *err)
{
    struct err late = ERR_INIT;

    if (!PQpipelineSync(pg->link.conn))
        return pg_fail(pg, NULL, err);
    enum err_code code = take_answers(pg, run, err);

    VEC_CLEAR(&pg->posted);
    if (pg->link.conn == NULL)
        return code;
    PGresult *end = PQgetResult(pg->link.conn);
    bool synced = PQresultStatus(end) == PGRES_PIPELINE_SYNC;

    PQclear(end);
    if (synced && PQexitPipelineMode(pg->link.conn))
        return code;
    enum err_code failed = pg_fail(pg, NULL, code == E_OK ? err : &late);

    return code == E_OK ? failed : code;
}

static enum err_code send_and_settle(struct pg_db *pg, struct run *run, struct err *err)
{
    struct err late = ERR_INIT;

    if (enter_pipeline(pg, err) != E_OK)
        return err->code;
    enum err_code code = send_all(pg, run, err);

    if (pg->link.conn == NULL)
        return code;
    return settle(pg, run, code == E_OK ? err : &late) == E_OK || code != E_OK ? code : err->code;
}

static enum err_code run_pipeline(struct pg_db *pg, struct run *run, struct err *err)
{
    CLEANUP(mem) PGresult **results = mem_zalloc(sizeof(PGresult *) * run->n);

    run->results = results;
    enum err_code code = send_and_settle(pg, run, err);

    for (size_t i = 0; i < run->n; i++) {
        if (results[i] != NULL)
            hand_over(pg, &run->calls[i], results[i]);
        PQclear(results[i]);
    }
    return code;
}

enum err_code pg_settle(struct pg_db *pg, struct err *err)
{
    struct run nothing = {0};

    return pg->posted.count == 0 ? E_OK : settle(pg, &nothing, err);
}

/* Preparing is a request of its own: posted statements are answered first. */
static enum err_code see_prepared(struct pg_db *pg, const struct db_call *call, struct err *err)
{
    if (pg->statements[call->sql].prepared)
        return E_OK;
    return pg_settle(pg, err) != E_OK ? err->code : prepare(pg, call->sql, err);
}

static enum err_code run_once(struct pg_db *pg, struct run *run, struct err *err)
{
    for (size_t i = 0; i < run->n; i++)
        if (see_prepared(pg, &run->calls[i], err) != E_OK)
            return err->code;
    if (run->n == 1 && !run->begins && pg->posted.count == 0)
        return run_single(pg, run, err);
    return run_pipeline(pg, run, err);
}

/* A connection may have died while nobody looked.  What has not begun can begin again, and a
 * reader's question can be asked again. */
static bool may_repeat(const struct pg_db *pg, const struct run *run)
{
    return pg->link.conn == NULL && !run->answered &&
           (run->begins || (pg->tx == PG_TX_NONE && pg->link.session.read_only));
}

static enum err_code run_or_repeat(struct pg_db *pg, struct db_call *calls, size_t n,
                                   struct err *err)
{
    struct run run = {.calls = calls, .n = n, .begins = pg->tx == PG_TX_WANTED};
    bool was_up = pg->link.conn != NULL;

    if (pg_connect(pg, err) != E_OK)
        return err->code;
    enum err_code code = run_once(pg, &run, err);

    if (code == E_OK || !was_up || !may_repeat(pg, &run) || pg_connect(pg, err) != E_OK)
        return code;
    struct run again = {.calls = calls, .n = n, .begins = run.begins};

    pg->tx = run.begins ? PG_TX_WANTED : PG_TX_NONE;
    return run_once(pg, &again, err);
}

enum err_code pg_run(struct db *db, struct db_call *calls, size_t n, struct err *err)
{
    struct pg_db *pg = pg_of(db);

    if (pg->tx == PG_TX_LOST)
        return err_set(err, E_UNAVAILABLE, "the transaction was lost with its connection: %s",
                       pg->link.why);
    enum err_code code = n == 0 ? E_OK : run_or_repeat(pg, calls, n, err);

    pg_params_rest(&pg->params);
    return code;
}

/* The first statement of a transaction is waited for: it shows whether the connection lives. */
enum err_code pg_post(struct db *db, struct db_call *call, struct err *err)
{
    struct pg_db *pg = pg_of(db);

    if (pg->tx != PG_TX_OPEN)
        return pg_run(db, call, 1, err);
    /* A parameter that does not fit must not leave an empty pipeline behind. */
    if (see_prepared(pg, call, err) != E_OK || set_params(pg, call, err) != E_OK ||
        enter_pipeline(pg, err) != E_OK || send_call(pg, call, err) != E_OK)
        return err->code;
    VEC_PUSH(&pg->posted, call->sql);
    pg_params_rest(&pg->params);
    return PQflush(pg->link.conn) == 0 ? E_OK : pg_fail(pg, NULL, err);
}

enum err_code pg_post_commit(struct pg_db *pg, struct err *err)
{
    if (enter_pipeline(pg, err) != E_OK || send_bare(pg, SQL_COMMIT, err) != E_OK)
        return err->code;
    VEC_PUSH(&pg->posted, SQL_COMMIT);
    return E_OK;
}
