/*
 * What the parts of the account share: lines and values (account.c), jobs (account_emits.c), steps and signals
 * (account_route.c).
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/vec.h"
#include "worker/run/account.h"

/* A reply in the order of its line; without a text it waits for the server. */
struct account_reply {
    char *text;
};

struct account_value {
    char *name;
    char *json;
};

struct account_signal {
    char *name;
    int64_t count;
};

/* An emit! or a cursor that the server has not taken yet. */
struct account_entry {
    char *json;
    size_t size;
    size_t reply; /* its number among all replies ever due, from 0 */
    bool cursor;
};

enum account_batch {
    ACCOUNT_BATCH_NONE,
    ACCOUNT_BATCH_STAGED,  /* of the spool */
    ACCOUNT_BATCH_VISIBLE, /* of the entries */
};

struct account {
    struct account_config config;
    char *id, *lease;

    struct word end;
    char *end_text;

    struct buf text;
    bool has_text, has_done, has_left, changed;
    int64_t done, total, left_us;
    char unit[WORD_UNIT_MAX + 1];

    VEC(struct account_value) values;
    size_t values_size;

    /* Replies from number `replies_first` on; those that are no longer waited for are written out. */
    VEC(struct account_reply) replies;
    size_t replies_first;

    struct buf spool;  /* jobs one after the other, with a comma behind each */
    VEC(size_t) sizes; /* of them */

    struct buf steps; /* one after the other, with a comma between */
    size_t n_steps;
    VEC(struct account_signal) signals;
    const char *said_before; /* the word of those that go with the finish alone; NULL: none yet */

    VEC(struct account_entry) entries;
    size_t entries_size;
    int64_t hold_until_at; /* of the first emit!; 0: there was none yet */
    bool sent_some;        /* the first batch of entries has gone */

    enum account_batch batch; /* under way, or to be sent again */
    bool again;
    struct buf body;
    size_t batch_count; /* jobs or entries in it */
    int64_t seq;        /* of the last batch that was taken */
    bool closed;
    struct err fault;
};

/* A reply is due for the line at hand: now, with its text, or later: returns its number. */
void account_reply_now(struct account *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
size_t account_reply_later(struct account *a);
void account_reply_fill(struct account *a, size_t number, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Spaces for control characters: what quotes others must not end a line. */
void account_tidy(char *text);

/* Writes out the replies that wait for nothing. */
void account_flush_replies(struct account *a, struct buf *replies);

/* What it asked for is beyond its rights: the attempt cannot succeed, whether or not its program reads replies. */
void account_note_forbidden(struct account *a, const struct err *why);

/* Whether a job can be made of it as far as can be told here: its queue, topic or steps are known. */
MUST_CHECK enum err_code account_check_job(struct account *a, struct slice job, struct err *err);

void account_take_step(struct account *a, const struct word *w);
void account_take_raise(struct account *a, const struct word *w);
void account_add_route(const struct account *a, struct buf *b);
void account_drop_route(struct account *a);
void account_free_route(struct account *a);

void account_take_emit(struct account *a, const struct word *w);
void account_take_emit_now(struct account *a, const struct word *w, int64_t now_at);
void account_take_cursor(struct account *a, const struct word *w);
void account_free_emits(struct account *a);
