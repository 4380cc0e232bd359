/*
 * The PostgreSQL driver (db/db.h): the module postgres.so.
 *
 * Statements are prepared on first use in a connection.  A transaction begins with its first
 * statement, in the same round trip.  Several calls go in one pipeline; posted calls are not waited
 * for.  A connection that is lost outside of a transaction, or before its first answer, is opened
 * again at once; inside a transaction nothing is ever repeated.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/vec.h"
#include "store/db/module.h"
#include "store/postgres/link.h"
#include "store/postgres/values.h"

struct pg_statement {
    bool prepared; /* in this connection */
    int n_params;
    Oid *types; /* of the parameters; NULL: never prepared */
};

enum pg_tx {
    PG_TX_NONE,
    PG_TX_WANTED, /* begins with the next statement */
    PG_TX_OPEN,
    PG_TX_LOST, /* its connection is lost: roll back */
};

struct pg_db {
    struct db base; /* must be first */
    const struct db_host *host;
    struct pg_link link;
    struct pg_statement *statements; /* host->n_texts */
    struct pg_params params;
    enum pg_tx tx;
    VEC(enum sql) posted; /* sent, not yet answered: the connection is in pipeline mode */
};

extern const struct db_driver pg_driver;

static inline struct pg_db *pg_of(struct db *db)
{
    return (struct pg_db *)db;
}

/* Connects unless a pause is running, and resets what belongs to a connection. */
MUST_CHECK enum err_code pg_connect(struct pg_db *pg, struct err *err);

/* Handles a failure: drops a lost connection, marks a conflict.  Returns err's code. */
enum err_code pg_fail(struct pg_db *pg, const PGresult *result, struct err *err);

enum err_code pg_run(struct db *db, struct db_call *calls, size_t n, struct err *err);
enum err_code pg_post(struct db *db, struct db_call *call, struct err *err);

/* Posts the commit. */
MUST_CHECK enum err_code pg_post_commit(struct pg_db *pg, struct err *err);

/* Waits for the answers to all posted calls. */
MUST_CHECK enum err_code pg_settle(struct pg_db *pg, struct err *err);

/* Statements without results, as text: for migrations. */
MUST_CHECK enum err_code pg_script(struct pg_db *pg, const char *text, struct err *err);

enum err_code pg_migrate(struct db *db, int *ret_version, struct err *err);
enum err_code pg_facts(struct db *db, struct store_facts *ret_facts, struct err *err);

enum err_code pg_listener_open(const struct db_config *config, struct db_listener **ret_listener,
                               struct err *err);
void pg_listener_wait(struct db_listener *l, const struct db_wait *wait);
void pg_listener_close(struct db_listener *l);
