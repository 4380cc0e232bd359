/* SPDX-License-Identifier: MIT */
#include "pg_schema.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *cluster(void)
{
    const char *url = getenv("WAYBILL_TEST_STORE");

    return url == NULL ? "" : url;
}

bool pg_is_wanted(void)
{
    return cluster()[0] != '\0';
}

static void give_up(PGconn *c, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, PQerrorMessage(c));
    exit(1);
}

/* The first value of the answer, as a number; 0 when there is none. */
static int64_t run(const char *url, const char *sql)
{
    PGconn *c = PQconnectdb(url);

    if (PQstatus(c) != CONNECTION_OK)
        give_up(c, url);
    PGresult *r = PQexec(c, sql);
    ExecStatusType status = PQresultStatus(r);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        give_up(c, sql);
    int64_t number = PQntuples(r) > 0 ? strtoll(PQgetvalue(r, 0, 0), NULL, 10) : 0;

    PQclear(r);
    PQfinish(c);
    return number;
}

void pg_schema_make(struct pg_schema *p)
{
    static int made;
    char sql[128];

    snprintf(p->name, sizeof(p->name), "t%d_%d", (int)getpid(), ++made);
    snprintf(p->url, sizeof(p->url), "%s%coptions=-csearch_path%%3D%s", cluster(),
             strchr(cluster(), '?') == NULL ? '?' : '&', p->name);
    snprintf(sql, sizeof(sql), "CREATE SCHEMA %s", p->name);
    run(cluster(), sql);
}

void pg_schema_drop(struct pg_schema *p)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "SET client_min_messages = warning; DROP SCHEMA %s CASCADE",
             p->name);
    run(cluster(), sql);
}

void pg_schema_run(const struct pg_schema *p, const char *sql)
{
    run(p->url, sql);
}

int64_t pg_schema_number(const struct pg_schema *p, const char *sql)
{
    return run(p->url, sql);
}
