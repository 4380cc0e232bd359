/* SPDX-License-Identifier: MIT */
#include "pg_schema.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REUSED_BYTES = 256 << 10 };

static const char largest[] = "SELECT COALESCE(MAX(pg_relation_size(c.oid)), 0) FROM pg_class AS c"
                              " WHERE c.relnamespace = current_schema()::regnamespace";

/* The lock waits for what a session that was abandoned still does. */
static const char empty_all[] =
    "DO $$ DECLARE t name; BEGIN"
    " FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    " LOOP EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', t);"
    " IF t <> 'meta' THEN EXECUTE format('DELETE FROM %I', t); END IF; END LOOP;"
    " DELETE FROM meta WHERE key <> 'version'; END $$";

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

/* A test has one at a time, and the next one may have it again. */
static struct pg_schema spare;
static pid_t owner; /* of the spare one; 0: there is none */
static bool is_altered;

static void drop_spare(void)
{
    if (owner == getpid())
        pg_schema_drop(&spare);
}

void pg_schema_take(struct pg_schema *p)
{
    static bool is_registered;

    is_altered = false;
    if (!is_registered && atexit(drop_spare) != 0)
        abort();
    is_registered = true;
    if (owner != getpid()) {
        pg_schema_make(p);
        return;
    }
    *p = spare;
    owner = 0;
}

void pg_schema_give_back(struct pg_schema *p)
{
    if (is_altered || owner != 0 || run(p->url, largest) > REUSED_BYTES) {
        pg_schema_drop(p);
        return;
    }
    run(p->url, empty_all);
    spare = *p;
    owner = getpid();
}

void pg_schema_run(const struct pg_schema *p, const char *sql)
{
    if (strstr(sql, "CREATE ") != NULL || strstr(sql, "ALTER ") != NULL)
        is_altered = true;
    run(p->url, sql);
}

int64_t pg_schema_number(const struct pg_schema *p, const char *sql)
{
    return run(p->url, sql);
}
