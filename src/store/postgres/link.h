/*
 * A connection to PostgreSQL that comes back: settings of the session, losses, and pauses between attempts.
 *
 * The URL goes to libpq as it is, so that password files, TLS and services work as they do there.  A link that
 * is lost tries again at once, then after pauses of 50 ms that double up to 1 s, each spread by chance so that
 * servers do not come back in step.  Before its time an attempt fails at once.  One thread's own.
 *
 * A writer waits for a lock no longer than 1.2 s (a deadlock shows after 1 s), and one whose server is silent within a
 * transaction for 2 s, stopped or cut off, is ended by PostgreSQL: what it holds is free for the others then.
 *
 * A lost connection may leave a backend that does not know it yet: it waits for a lock and holds others.  The next
 * session of a writer ends it in that case.  This frees the locks early and guarantees nothing.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"

struct pg_session {
    bool read_only;
    int64_t read_limit_us; /* of a reader's statement; 0: none */
};

/* A backend of the PostgreSQL server.  Numbers are used again, so that the start belongs to it. */
struct pg_backend {
    int64_t pid; /* 0: none */
    int64_t started_at;
};

struct pg_link {
    PGconn *conn; /* NULL: lost, or never there */
    char *url;
    struct pg_session session;
    struct pg_backend backend; /* of the connection */
    struct pg_backend
        former; /* of a connection that was lost; a writer ends it when it comes back */
    struct rng rng;
    int64_t pause_us;
    int64_t try_at; /* monotonic: not before */
    char why[240];  /* of the last failure, for those who come before the time */
};

void pg_link_init(struct pg_link *l, const char *url, const struct pg_session *session);
void pg_link_deinit(struct pg_link *l);

/* Connects unless it is connected.  E_UNAVAILABLE, E_INVALID when the URL cannot be understood. */
MUST_CHECK enum err_code pg_link_up(struct pg_link *l, struct err *err);

/* The connection is of no use any more; the next attempt may come at once. */
void pg_link_drop(struct pg_link *l, const char *why);

/* Until the next attempt may come. */
int64_t pg_link_pause_us(const struct pg_link *l);
