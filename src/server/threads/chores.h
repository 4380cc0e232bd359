/*
 * Long work on the store: a backup or a check, one at a time, on its own thread and its own
 * reading store.
 *
 * A chore cannot be interrupted.  When the server stops meanwhile, the waiting client gets an
 * error and the thread ends with the process.  HTTP thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "server/threads/delivery.h"
#include "server/threads/inbox.h"
#include "store/store.h"

struct chore;
struct request;

typedef void chore_fn(struct chore *c);

enum chore_kind { CHORE_BACKUP, CHORE_CHECK };

struct chore {
    struct delivery delivery;
    struct chores *chores;
    enum chore_kind kind;
    enum store_check how; /* CHECK */
    char *dir;            /* BACKUP */
    chore_fn *then;       /* on the HTTP thread, when it is done; the chore is freed afterwards */
    struct request *request; /* waits for it; NULL: nobody */

    struct err err;
    int64_t bytes;       /* BACKUP */
    struct buf findings; /* CHECK: JSON strings with commas between them */
    size_t n_findings;
};

struct chores {
    struct inbox *home;
    struct store_config store;
    struct chore *running; /* NULL: none */
    pthread_t thread;
};

void chores_init(struct chores *cs, const struct store_config *store, struct inbox *home);

/* Takes over the chore, also on failure.  E_UNAVAILABLE when one is running. */
MUST_CHECK enum err_code chores_begin(struct chores *cs, struct chore *c, struct err *err);

struct chore *chore_new(enum chore_kind kind, struct request *request, chore_fn *then);
