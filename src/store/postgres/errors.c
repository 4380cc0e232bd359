/* SPDX-License-Identifier: MIT */
#include "store/postgres/errors.h"

#include <string.h>

#include "base/compiler.h"

struct meaning_of {
    const char *state; /* an SQLSTATE, or the beginning of one */
    struct pg_failure failure;
    const char *words; /* NULL: PostgreSQL's own */
};

/* The first that fits. */
static const struct meaning_of meanings[] = {
    {"08", {E_UNAVAILABLE, PG_LOST}, NULL},
    {"57P", {E_UNAVAILABLE, PG_LOST}, NULL}, /* shut down, crashed, not yet started */
    {"40003", {E_UNAVAILABLE, PG_LOST}, NULL},
    {"40", {E_UNAVAILABLE, PG_CONFLICT}, "conflict with another server on the same rows"},
    {"23505", {E_UNAVAILABLE, PG_CONFLICT}, "another server has added the same row"},
    {"55P03",
     {E_UNAVAILABLE, PG_BUSY},
     "another server, or somebody in the database, holds what this needs for too long: pg_locks "
     "and pg_stat_activity tell who"},
    /* Statements that guard the commit fail by a number that they cannot take. */
    {"22012", {E_UNAVAILABLE, PG_CONFLICT}, "conflict with another server on the same jobs"},
    {"2201E", {E_UNAVAILABLE, PG_REFUSED}, "the other servers have declared this one dead"},
    {"57014", {E_TOO_SLOW, PG_PLAIN}, "the store took too long: narrow the request"},
    {"53100",
     {E_FULL, PG_PLAIN},
     "the disk of the PostgreSQL server is full: free space there, then repeat"},
    {"53", {E_UNAVAILABLE, PG_PLAIN}, NULL}, /* out of memory, of connections … */
    {"58", {E_UNAVAILABLE, PG_PLAIN}, NULL}, /* its system fails */
    {"25006", {E_UNAVAILABLE, PG_PLAIN}, "the database takes no writes: is it a standby?"},
    {"22021", {E_INVALID, PG_PLAIN}, "PostgreSQL keeps only valid UTF-8 without NUL in texts"},
};

void pg_flatten(const char *message, char *line, size_t size)
{
    size_t used = 0;
    bool blank = true; /* at the begin, and after one */

    for (const char *p = message; *p != '\0' && used + 1 < size; p++) {
        bool is_blank = *p == '\n' || *p == '\t' || *p == ' ';

        if (!(is_blank && blank))
            line[used++] = is_blank ? ' ' : *p;
        blank = is_blank;
    }
    if (used > 0 && line[used - 1] == ' ')
        used--;
    line[used] = '\0';
}

/* After a FATAL error the server hangs up. */
static bool is_fatal(const PGresult *result)
{
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

    return severity != NULL && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
}

static struct pg_failure explain_lost(const char *message, struct err *err)
{
    char line[200];

    pg_flatten(message, line, sizeof(line));
    err_set(err, E_UNAVAILABLE, "the connection to the database was lost: %s", line);
    return (struct pg_failure){E_UNAVAILABLE, PG_LOST};
}

struct pg_failure pg_explain(PGconn *conn, const PGresult *result, struct err *err)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    if (PQstatus(conn) == CONNECTION_BAD || state == NULL || is_fatal(result))
        return explain_lost(message != NULL ? message : PQerrorMessage(conn), err);
    const struct meaning_of *m = NULL;

    for (size_t i = 0; i < ARRAY_LEN(meanings) && m == NULL; i++)
        if (strncmp(state, meanings[i].state, strlen(meanings[i].state)) == 0)
            m = &meanings[i];
    if (m != NULL && m->failure.meaning == PG_LOST)
        return explain_lost(message, err);
    if (m != NULL && m->words != NULL)
        err_set(err, m->failure.code, "%s (%s)", m->words, state);
    else
        err_set(err, m != NULL ? m->failure.code : E_INTERNAL, "store: %s (%s)",
                message != NULL ? message : "no message", state);
    return m != NULL ? m->failure : (struct pg_failure){E_INTERNAL, PG_PLAIN};
}

/* Words of an English message, and a hint that is added to it. */
static const struct {
    const char *word, *hint;
} hints[] = {
    {"password authentication failed",
     "is the password in the URL, ~/.pgpass or PGPASSFILE right?"},
    {"no password supplied", "give it by ~/.pgpass, PGPASSFILE or the URL"},
    {"pg_hba.conf", "the PostgreSQL server does not allow connections from here"},
    {"does not exist", "create it first: createuser, createdb"},
    {"translate host name", "is the host's name right?"},
    {"Connection refused", "does PostgreSQL run there, and listen?"},
    {"No such file or directory", "does PostgreSQL run there?"},
    {"timeout expired", "no answer from that address"},
    {"too many clients", "raise max_connections of PostgreSQL"},
    {"read-only", "is it a standby?"},
};

enum err_code pg_explain_connect(PGconn *conn, struct err *err)
{
    const char *message = conn == NULL ? "out of memory" : PQerrorMessage(conn);
    const char *advice = strstr(message, "\n\t"); /* libpq's; ours is shorter */
    CLEANUP(mem)
    char *text = mem_strndup(message,
                             advice == NULL ? strlen(message) : (size_t)(advice - message));
    char line[600];

    pg_flatten(text, line, sizeof(line));
    const char *fatal = strstr(line, "FATAL: "); /* the server's own words are the short ones */
    const char *words = fatal != NULL ? fatal + 7 : line;

    for (size_t i = 0; i < ARRAY_LEN(hints); i++)
        if (strstr(line, hints[i].word) != NULL)
            return err_set(err, E_UNAVAILABLE, "%.160s: %s", words, hints[i].hint);
    return err_set(err, E_UNAVAILABLE, "%s", words);
}
