/*
 * Prints a job's log: unchanged, as JSON, with times, with its attempts separated.
 *
 * In a file or pipe a log is byte-exact, unless times are asked for.  On a terminal a thin line
 * stands before each attempt of a job that was run more than once.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/slice.h"
#include "cli/cli.h"

struct log_printer {
    struct cli *cli;
    char id[16];
    int64_t offset;        /* of the next byte */
    bool times;            /* each line starts with its time */
    bool mid_line;         /* the line that was printed last has not ended */
    json_t *marks;         /* what the server knows of times and attempts; NULL: nothing yet */
    size_t next_time;      /* the first mark after `offset` */
    size_t next_attempt;   /* likewise */
    struct client *client; /* asks for marks while the log is followed; or NULL */
    int64_t asked_at;
    bool tells_attempts; /* that one ended and another begins, on standard error */
    char line[64];       /* start of the last line, for the worker's mark of an overfull log */
    size_t line_size;
    int64_t left_out; /* bytes that such marks in the printed log say are missing */
};

/* `id` is a job's.  From that offset on; with times or on a terminal the marks are read now. */
MUST_CHECK enum err_code log_printer_open(struct log_printer *p, struct cli *cli, struct slice id,
                                          bool times, struct err *err);
void log_printer_close(struct log_printer *p);

/* Where an attempt begins, and where the next one does (INT64_MAX: none does).  E_NOT_FOUND: the
 * log has none of that number. */
MUST_CHECK enum err_code log_printer_attempt(struct log_printer *p, int64_t attempt,
                                             int64_t *ret_from, int64_t *ret_to, struct err *err);

/* Following starts here: later output may belong to another attempt. */
void log_printer_follow(struct log_printer *p);

/* The server was away: an attempt may have ended with it, and another begin where we are. */
void log_printer_lost_sight(struct log_printer *p);

void log_printer_skip_to(struct log_printer *p, int64_t offset);
void log_printer_add(struct log_printer *p, struct slice data);
