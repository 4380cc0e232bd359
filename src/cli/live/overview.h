/*
 * One screen of what moves, what fails and what waits for what: `status` prints it, `top` keeps it
 * fresh.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/cli.h"

struct overview {
    struct client_reply server;
    struct client_reply queues;
    struct client_reply workers;
    struct client_reply running;
    struct client_reply failed;
    struct client_reply waiting;                    /* ready, scheduled and held ones */
    int running_shown, failed_shown, waiting_shown; /* number of rows */
    bool folds; /* idle queues and workers that are gone are counted, not listed */
};

enum {
    OVERVIEW_RUNNING = 10,
    OVERVIEW_FAILED = 5,
    OVERVIEW_WAITING = 5,
    OVERVIEW_RUNNING_TOP = 100, /* where it can be scrolled */
    OVERVIEW_FAILED_TOP = 50,
    OVERVIEW_WAITING_TOP = 50,
};

#define OVERVIEW_INIT                                                                              \
    ((struct overview){CLIENT_REPLY_INIT, CLIENT_REPLY_INIT, CLIENT_REPLY_INIT, CLIENT_REPLY_INIT, \
                       CLIENT_REPLY_INIT, CLIENT_REPLY_INIT, OVERVIEW_RUNNING, OVERVIEW_FAILED,    \
                       OVERVIEW_WAITING, false})

void overview_deinit(struct overview *o);
CLEANUP_BY_DEINIT(overview)

/* Asks the server for all of it; `o` is empty before. */
MUST_CHECK enum err_code overview_get(struct cli *cli, struct overview *o, struct err *err);

/* Jobs that run now, all queues together. */
int64_t overview_running(const struct overview *o);

void overview_print(const struct cli *cli, const struct screen *s, const struct overview *o,
                    int64_t now_at);
void overview_print_json(const struct overview *o);
