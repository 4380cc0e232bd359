/*
 * Reads a run's store before its loop starts: blocking calls to the run's server.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "each/input.h"
#include "each/line/command.h"
#include "worker/client/client.h"

struct each_definition {
    const struct each_command *command;
    const char *dir;    /* where the programs run, and are found from */
    int64_t retries;    /* after the first attempt */
    int64_t timeout_us; /* 0: none */
};

/* Tells the server what the queue is. */
MUST_CHECK enum err_code each_store_define(struct client *c, const struct each_definition *d,
                                           struct err *err);

struct each_counts {
    int64_t done, failed; /* failed includes cancelled */
    int64_t live;
};

MUST_CHECK enum err_code each_store_counts(struct client *c, struct each_counts *ret_counts,
                                           struct err *err);

/* The same from the text of an answer. */
struct each_counts each_counts_of(const json_t *answer);

#define EACH_PAUSE_PATH "/v1/queues/" EACH_QUEUE "/pause"
#define EACH_RESUME_PATH "/v1/queues/" EACH_QUEUE "/resume"

/* Starts no lines, until the queue is resumed. */
MUST_CHECK enum err_code each_store_pause(struct client *c, bool pause, struct err *err);

/* Lines in growing order. */
struct each_line_list {
    int64_t *items;
    size_t count;
    size_t capacity;
};

/* The lines that have not ended. */
MUST_CHECK enum err_code each_store_live_lines(struct client *c, struct each_line_list *lines,
                                               struct err *err);

/* The lines that --failed runs: those that failed, were cancelled or were running, and those that
 * have run and wait to run again, after an earlier --failed or for a retry.  Lines that have never
 * run are held; *ret_unrun is their number. */
MUST_CHECK enum err_code each_store_pick_failed(struct client *c, struct each_line_list *lines,
                                                int64_t *ret_unrun, struct err *err);

bool each_line_list_has(const struct each_line_list *l, int64_t line);

/* Does that to all lines in these states (`"failed","cancelled"`); returns when it is done. */
MUST_CHECK enum err_code each_store_act(struct client *c, const char *action, const char *states,
                                        struct err *err);

/* A failed line, for people. */
struct each_failure {
    int64_t line;
    char id[16];
    char *input; /* the start of the line */
    char *what;  /* "exit 3", "signal 9", "timeout" … */
};

struct each_failures {
    struct each_failure *items;
    size_t count;
    size_t capacity;
};

void each_failures_deinit(struct each_failures *f);

/* Up to `most` failed lines, the first of them; *ret_all is false when there are more. */
MUST_CHECK enum err_code each_store_failures(struct client *c, size_t most,
                                             struct each_failures *ret_failures, bool *ret_all,
                                             struct err *err);
