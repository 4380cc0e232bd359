/*
 * What PostgreSQL's errors mean for those who called: a code, and words about what can be done.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>

#include "base/err.h"

enum pg_meaning {
    PG_PLAIN,    /* the statement failed */
    PG_CONFLICT, /* somebody else was faster */
    PG_BUSY,     /* somebody holds a lock for too long */
    PG_REFUSED,  /* the statement says so: what it guards must not be committed */
    PG_LOST,     /* the connection is of no use any more */
};

struct pg_failure {
    enum err_code code;
    enum pg_meaning meaning;
};

/* Fills err from a failed result; NULL: from the connection. */
struct pg_failure pg_explain(PGconn *conn, const PGresult *result, struct err *err);

/* Why a connection did not come about, in one line and with what may help. */
enum err_code pg_explain_connect(PGconn *conn, struct err *err);

/* A message of libpq in one line. */
void pg_flatten(const char *message, char *line, size_t size);
