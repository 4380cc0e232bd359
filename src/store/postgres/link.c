/* SPDX-License-Identifier: MIT */
#include "store/postgres/link.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "store/postgres/errors.h"

enum { PAUSE_MIN_US = 50000, PAUSE_MAX_US = 1000000, SCRIPT_MAX = 2000 };

enum { SERVER_MIN = 140000 };

/* The channel of news is named after the schema, and names have at most 63 bytes. */
enum { SCHEMA_MAX = 55 };

void pg_link_init(struct pg_link *l, const char *url, const struct pg_session *session)
{
    *l = (struct pg_link){.url = mem_strdup(url), .session = *session};
    rng_init(&l->rng, (uint64_t)clock_mono_us() * 1000 + (uint64_t)getpid());
}

void pg_link_deinit(struct pg_link *l)
{
    PQfinish(l->conn);
    free(l->url);
}

void pg_link_drop(struct pg_link *l, const char *why)
{
    snprintf(l->why, sizeof(l->why), "%s", why);
    PQfinish(l->conn);
    l->conn = NULL;
    l->former = l->backend;
    l->backend = (struct pg_backend){0};
    l->pause_us = 0;
    l->try_at = 0;
}

int64_t pg_link_pause_us(const struct pg_link *l)
{
    int64_t left = l->try_at - clock_mono_us();

    return left > 0 ? left : 0;
}

/* ---- connecting ---- */

static void ignore_notice(void *ctx, const PGresult *result)
{
    (void)ctx;
    (void)result;
}

/* libpq quotes the URL in its complaints, password and all: only what names an option is passed on.
 */
static enum err_code check_url(const char *url, struct err *err)
{
    char *why = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &why);
    char line[120] = "";

    if (options != NULL) {
        PQconninfoFree(options);
        return E_OK;
    }
    if (why != NULL && strncmp(why, "invalid URI query parameter", 27) == 0)
        pg_flatten(why, line, sizeof(line));
    PQfreemem(why);
    return err_set(err, E_INVALID,
                   "bad URL of the store: %s%spostgresql://USER@HOST:PORT/"
                   "DATABASE, with special characters as %%XX",
                   line, line[0] == '\0' ? "" : "; ");
}

/* The URL overrides keywords before dbname, but not those behind it. */
static PGconn *connect_to(const char *url, bool read_only)
{
    const char *patience = getenv("PGCONNECT_TIMEOUT");
    const char *const words[] = {"fallback_application_name", "connect_timeout",
                                 "keepalives_idle",           "keepalives_interval",
                                 "keepalives_count",          "tcp_user_timeout",
                                 "target_session_attrs",      "dbname",
                                 "client_encoding",           NULL};
    const char *const values[] = {"waybill", patience == NULL ? "2" : patience, "10", "3",    "3",
                                  "10000",   read_only ? "any" : "read-write",  url,  "UTF8", NULL};

    return PQconnectdbParams(words, values, 1);
}

/* ---- the session ---- */

/* Writers work by index on few rows; generic plans are made before the tables have any statistics,
 * and must not be those for small tables. */
static const char writer_settings[] =
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"
    "SET enable_bitmapscan = off; SET enable_material = off; SET enable_memoize = off;"
    "SET plan_cache_mode = force_generic_plan;"
    "SET default_transaction_read_only = off;";

static void add_settings(struct buf *script, const struct pg_session *session)
{
    buf_add_str(script, session->read_only ? "SET idle_in_transaction_session_timeout = '5s';"
                                             "SET lock_timeout = '10s';"
                                           : "SET idle_in_transaction_session_timeout = '2s';"
                                             "SET lock_timeout = '1200ms';");
    buf_add_str(script, "SET default_transaction_isolation = 'read committed'; SET jit = off;"
                        "SELECT set_config('synchronous_commit', 'on', false)"
                        " WHERE current_setting('synchronous_commit') = 'off';");
    if (!session->read_only)
        buf_add_str(script, writer_settings);
    else
        buf_add_str(script, "SET default_transaction_read_only = on;");
    if (session->read_only && session->read_limit_us > 0)
        buf_addf(script, "SET statement_timeout = %lld;",
                 (long long)((session->read_limit_us + US_PER_MS - 1) / US_PER_MS));
}

static const char session_facts[] =
    "SELECT current_schema(), pg_backend_pid(), (SELECT CAST(EXTRACT(EPOCH FROM backend_start)"
    " * 1000000 AS BIGINT) FROM pg_stat_activity WHERE pid = pg_backend_pid())";

static enum err_code check_session(PGconn *conn, const PGresult *result, struct err *err)
{
    const char *encoding = PQparameterStatus(conn, "server_encoding");

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        return pg_explain(conn, result, err).code;
    if (encoding == NULL || strcmp(encoding, "UTF8") != 0)
        return err_set(err, E_UNAVAILABLE,
                       "the database stores texts as %s: create it with ENCODING 'UTF8'",
                       encoding == NULL ? "an unknown encoding" : encoding);
    if (PQgetisnull(result, 0, 0))
        return err_set(err, E_UNAVAILABLE,
                       "no schema of search_path exists: create it, or name another");
    if (PQgetlength(result, 0, 0) > SCHEMA_MAX)
        return err_set(err, E_UNAVAILABLE, "the schema's name has more than %d bytes", SCHEMA_MAX);
    return E_OK;
}

static enum err_code begin_session(struct pg_link *l, PGconn *conn, struct err *err)
{
    CLEANUP(buf) struct buf script = BUF_INIT(SCRIPT_MAX);

    if (PQserverVersion(conn) < SERVER_MIN)
        return err_set(err, E_UNAVAILABLE, "the server is PostgreSQL %s: use %d or newer",
                       PQparameterStatus(conn, "server_version"), SERVER_MIN / 10000);
    PQsetNoticeReceiver(conn, ignore_notice, NULL);
    add_settings(&script, &l->session);
    /* Ends the former backend only if it waits for a lock: one whose commit waits for a standby
     * must go on waiting. */
    if (l->former.pid != 0 && !l->session.read_only)
        buf_addf(&script,
                 "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %lld"
                 " AND wait_event_type = 'Lock'"
                 " AND CAST(EXTRACT(EPOCH FROM backend_start) * 1000000 AS BIGINT) = %lld;",
                 (long long)l->former.pid, (long long)l->former.started_at);
    buf_add_str(&script, session_facts);
    PGresult *result = PQexec(conn, buf_text(&script));
    enum err_code code = check_session(conn, result, err);

    if (code == E_OK)
        l->backend = (struct pg_backend){strtoll(PQgetvalue(result, 0, 1), NULL, 10),
                                         strtoll(PQgetvalue(result, 0, 2), NULL, 10)};
    PQclear(result);
    return code;
}

static enum err_code try_connect(struct pg_link *l, struct err *err)
{
    PGconn *conn = connect_to(l->url, l->session.read_only);
    enum err_code code = PQstatus(conn) == CONNECTION_OK ? begin_session(l, conn, err)
                                                         : pg_explain_connect(conn, err);

    if (code != E_OK) {
        PQfinish(conn);
        return code;
    }
    l->conn = conn;
    l->former = (struct pg_backend){0};
    l->pause_us = 0;
    return E_OK;
}

/* Between a half and the whole of the pause. */
static void put_off(struct pg_link *l, const char *why)
{
    l->pause_us = l->pause_us == 0 ? PAUSE_MIN_US : 2 * l->pause_us;
    if (l->pause_us > PAUSE_MAX_US)
        l->pause_us = PAUSE_MAX_US;
    int64_t half = l->pause_us / 2;

    l->try_at = clock_mono_us() + half + (int64_t)rng_below(&l->rng, (uint64_t)half + 1);
    snprintf(l->why, sizeof(l->why), "%s", why);
}

enum err_code pg_link_up(struct pg_link *l, struct err *err)
{
    if (l->conn != NULL)
        return E_OK;
    if (pg_link_pause_us(l) > 0)
        return err_set(err, E_UNAVAILABLE, "the database is away: %s", l->why);
    if (check_url(l->url, err) != E_OK) {
        put_off(l, err->msg);
        return err->code;
    }
    if (try_connect(l, err) == E_OK)
        return E_OK;
    put_off(l, err->msg);
    return err_wrap(err, "the database is away");
}
