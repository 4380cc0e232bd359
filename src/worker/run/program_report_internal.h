/*
 * What program_report.c (lines, replies, status) and program_report_batches.c (jobs on their way
 * to the server) share.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/vec.h"
#include "worker/run/gains.h"
#include "worker/run/program_report.h"

/* A reply, in the order of the lines; NULL: it waits for the server. */
struct report_reply {
    char *text;
};

/* An emit! or a cursor that the server has not committed yet. */
struct report_entry {
    char *json;
    size_t size;
    size_t reply; /* its number among all replies ever due, from 0 */
    bool cursor;
};

enum report_batch {
    REPORT_BATCH_NONE,
    REPORT_BATCH_STAGED,  /* jobs of the gains */
    REPORT_BATCH_VISIBLE, /* entries */
};

struct program_report {
    struct program_report_config config;
    char *id, *lease;

    struct word end;
    char *end_text;

    struct buf text;
    bool has_text, has_done, has_left, changed;
    int64_t done, total, left_us;
    char unit[WORD_UNIT_MAX + 1];

    struct gains gains;
    const char *before_cursor; /* the last word that forbids a cursor; NULL: none so far */

    VEC(struct report_reply) replies; /* from number `replies_first` on */
    size_t replies_first;

    VEC(struct report_entry) entries;
    size_t entries_size;
    int64_t hold_until_at; /* of the first emit!; 0: there was none yet */
    bool sent_some;        /* the first batch of entries has been sent */

    enum report_batch batch; /* under way, or to be sent again */
    bool again;
    struct buf body;
    size_t batch_count; /* jobs or entries in it */
    int64_t seq;        /* of the last batch that was committed */
    bool closed;
    struct err fault;
};

/* Notes that a reply is due for the present line, later; returns its number. */
size_t report_reply_later(struct program_report *a);
void report_reply_fill(struct program_report *a, size_t number, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Replaces control characters by spaces: a quoted text must not end a line. */
void report_tidy(char *text);

/* Moves the replies that wait for nothing to `replies`. */
void report_flush_replies(struct program_report *a, struct buf *replies);

/* After E_FORBIDDEN the attempt cannot succeed, whether or not its program reads replies. */
void report_note_forbidden(struct program_report *a, const struct err *why);

/* An emit! or a cursor for the next batch. */
void report_add_entry(struct program_report *a, struct slice json, bool cursor);
void report_free_batches(struct program_report *a);
