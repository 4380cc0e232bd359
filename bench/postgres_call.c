/* SPDX-License-Identifier: MIT */
#include "postgres_call.h"

#include <endian.h>

/* ---- arguments ---- */

void postgres_args_add_number(struct postgres_args *a, int64_t v)
{
    int at = a->count++;

    a->numbers[at] = (int64_t)htobe64((uint64_t)v);
    a->values[at] = (const char *)&a->numbers[at];
    a->sizes[at] = (int)sizeof(a->numbers[at]);
}

void postgres_args_add_array(struct postgres_args *a, const struct buf *array)
{
    int at = a->count++;

    a->values[at] = array->data;
    a->sizes[at] = (int)array->size;
}

static void add_be32(struct buf *to, uint32_t v)
{
    uint32_t wire = htobe32(v);

    buf_add(to, &wire, sizeof(wire));
}

void postgres_array_begin(struct buf *to, uint32_t type, uint32_t count)
{
    buf_clear(to);
    add_be32(to, 1); /* dimensions */
    add_be32(to, 0); /* no NULL in it */
    add_be32(to, type);
    add_be32(to, count);
    add_be32(to, 1); /* the first index */
}

void postgres_array_add(struct buf *to, const void *data, size_t size)
{
    add_be32(to, (uint32_t)size);
    buf_add(to, data, size);
}

/* ---- statements ---- */

static enum err_code fail_with(PGconn *pg, const char *what, struct err *err)
{
    return err_set(err, E_UNAVAILABLE, "%s: %.160s", what, PQerrorMessage(pg));
}

enum err_code postgres_execute(PGconn *pg, const char *name, const struct postgres_args *args,
                               PGresult **ret_result, struct err *err)
{
    static const int binary[POSTGRES_ARGS_MAX] = {1, 1, 1, 1};
    PGresult *r = PQexecPrepared(pg, name, args->count, args->values, args->sizes, binary, 1);
    ExecStatusType status = PQresultStatus(r);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        PQclear(r);
        return fail_with(pg, name, err);
    }
    *ret_result = r;
    return E_OK;
}

enum err_code postgres_script(PGconn *pg, const char *sql, struct err *err)
{
    PGresult *r = PQexec(pg, sql);
    bool good = PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK;

    PQclear(r);
    return good ? E_OK : fail_with(pg, "plain SQL", err);
}

enum err_code postgres_prepare(PGconn *pg, const char *name, const char *sql, struct err *err)
{
    PGresult *r = PQprepare(pg, name, sql, 0, NULL);
    bool good = PQresultStatus(r) == PGRES_COMMAND_OK;

    PQclear(r);
    return good ? E_OK : fail_with(pg, name, err);
}

static enum err_code check_durable(PGconn *pg, struct err *err)
{
    PGresult *r = PQexec(pg, "SELECT current_setting('synchronous_commit') = 'on'"
                             " AND current_setting('fsync') = 'on'");
    bool good = PQntuples(r) == 1 && PQgetvalue(r, 0, 0)[0] == 't';

    PQclear(r);
    return good ? E_OK
                : err_set(err, E_INVALID, "synchronous_commit and fsync must be on: %.100s",
                          PQerrorMessage(pg));
}

/* Plans made while the tables are empty must not read all of them later. */
enum err_code postgres_connect(const char *url, PGconn **ret_pg, struct err *err)
{
    PGconn *pg = PQconnectdb(url);
    enum err_code code = E_OK;

    if (PQstatus(pg) != CONNECTION_OK)
        code = fail_with(pg, "connect", err);
    if (code == E_OK)
        code = check_durable(pg, err);
    if (code == E_OK)
        code = postgres_script(
            pg,
            "SET client_min_messages = warning; SET enable_seqscan = off;"
            "SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; "
            "SET plan_cache_mode = force_generic_plan",
            err);
    if (code == E_OK)
        *ret_pg = pg;
    else
        PQfinish(pg);
    return code;
}
