/*
 * What the parts of the report share: lines and values (report.c), jobs (program_report_emits.c), steps and signals
 * (program_report_route.c).
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/vec.h"
#include "worker/run/program_report.h"

/* A reply in the order of its line; without a text it waits for the server. */
struct program_report_reply {
    char *text;
};

struct program_report_value {
    char *name;
    char *json;
};

struct program_report_signal {
    char *name;
    int64_t count;
};

/* An emit! or a cursor that the server has not taken yet. */
struct program_report_entry {
    char *json;
    size_t size;
    size_t reply; /* its number among all replies ever due, from 0 */
    bool cursor;
};

enum program_report_batch {
    PROGRAM_REPORT_BATCH_NONE,
    PROGRAM_REPORT_BATCH_STAGED,  /* of the spool */
    PROGRAM_REPORT_BATCH_VISIBLE, /* of the entries */
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

    VEC(struct program_report_value) values;
    size_t values_size;

    /* Replies from number `replies_first` on; those that are no longer waited for are written out. */
    VEC(struct program_report_reply) replies;
    size_t replies_first;

    struct buf spool;  /* jobs one after the other, with a comma behind each */
    VEC(size_t) sizes; /* of them */

    struct buf steps; /* one after the other, with a comma between */
    size_t n_steps;
    VEC(struct program_report_signal) signals;
    const char *said_before; /* the word of those that go with the finish alone; NULL: none yet */

    VEC(struct program_report_entry) entries;
    size_t entries_size;
    int64_t hold_until_at; /* of the first emit!; 0: there was none yet */
    bool sent_some;        /* the first batch of entries has gone */

    enum program_report_batch batch; /* under way, or to be sent again */
    bool again;
    struct buf body;
    size_t batch_count; /* jobs or entries in it */
    int64_t seq;        /* of the last batch that was taken */
    bool closed;
    struct err fault;
};

/* A reply is due for the line at hand: now, with its text, or later: returns its number. */
void program_report_reply_now(struct program_report *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
size_t program_report_reply_later(struct program_report *a);
void program_report_reply_fill(struct program_report *a, size_t number, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Spaces for control characters: what quotes others must not end a line. */
void program_report_tidy(char *text);

/* Writes out the replies that wait for nothing. */
void program_report_flush_replies(struct program_report *a, struct buf *replies);

/* What it asked for is beyond its rights: the attempt cannot succeed, whether or not its program reads replies. */
void program_report_note_forbidden(struct program_report *a, const struct err *why);

/* Whether a job can be made of it as far as can be told here: its queue, topic or steps are known. */
MUST_CHECK enum err_code program_report_check_job(struct program_report *a, struct slice job,
                                                  struct err *err);

void program_report_take_step(struct program_report *a, const struct word *w);
void program_report_take_raise(struct program_report *a, const struct word *w);
void program_report_add_route(const struct program_report *a, struct buf *b);
void program_report_drop_route(struct program_report *a);
void program_report_free_route(struct program_report *a);

void program_report_take_emit(struct program_report *a, const struct word *w);
void program_report_take_emit_now(struct program_report *a, const struct word *w, int64_t now_at);
void program_report_take_cursor(struct program_report *a, const struct word *w);
void program_report_free_emits(struct program_report *a);
