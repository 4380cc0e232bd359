/*
 * A connection to PostgreSQL that reconnects: session settings, losses, pauses between attempts.
 *
 * The URL goes to libpq unchanged, so that password files, TLS and services work.  A lost link
 * reconnects at once, then after pauses of 50 ms that double up to 1 s, with random jitter so that
 * servers do not reconnect in step.  An attempt during a pause fails at once.  Belongs to one
 * thread.
 *
 * The lock timeout of a writer is 1.2 s (a deadlock shows after 1 s).  PostgreSQL ends a writer
 * that is silent within a transaction for 2 s, because it is stopped or cut off: its locks become
 * free.
 *
 * A lost connection may leave a backend that has not noticed: it waits for a lock and holds others.
 * The next session of a writer ends that backend.  This frees the locks early; correctness does not
 * depend on it.
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

/* A backend of the PostgreSQL server.  Pids are reused, so the start time is part of it. */
struct pg_backend {
    int64_t pid; /* 0: none */
    int64_t started_at;
};

struct pg_link {
    PGconn *conn; /* NULL: not connected */
    char *url;
    struct pg_session session;
    struct pg_backend backend; /* of the connection */
    struct pg_backend former;  /* of the lost connection; a writer ends it after reconnecting */
    struct rng rng;
    int64_t pause_us;
    int64_t try_at; /* monotonic: earliest next attempt */
    char why[240];  /* the last failure, for attempts during a pause */
};

void pg_link_init(struct pg_link *l, const char *url, const struct pg_session *session);
void pg_link_deinit(struct pg_link *l);

/* Connects if necessary.  E_UNAVAILABLE; E_INVALID: bad URL. */
MUST_CHECK enum err_code pg_link_up(struct pg_link *l, struct err *err);

/* The connection is lost; the next attempt may come at once. */
void pg_link_drop(struct pg_link *l, const char *why);

/* Time until the next attempt. */
int64_t pg_link_pause_us(const struct pg_link *l);
