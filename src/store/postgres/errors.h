/*
 * Translates PostgreSQL's errors: a code, and a text that says what to do.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/err.h"

enum pg_meaning {
    PG_PLAIN,    /* the statement failed */
    PG_CONFLICT, /* conflict with another server */
    PG_BUSY,     /* lock timeout */
    PG_REFUSED,  /* a guard statement forbids the commit */
    PG_LOST,     /* the connection is lost */
};

struct pg_failure {
    enum err_code code;
    enum pg_meaning meaning;
};

/* Fills err from a failed result; NULL: from the connection. */
struct pg_failure pg_explain(PGconn *conn, const PGresult *result, struct err *err);

/* Why connecting failed, in one line, with advice. */
enum err_code pg_explain_connect(PGconn *conn, struct err *err);

/* A message of libpq in one line. */
void pg_flatten(const char *message, char *line, size_t size);
