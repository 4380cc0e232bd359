/*
 * Words: what a program says on file descriptor 3, one line each.
 *
 * Each word is one row of the table `words`: its names, how its line is read, whether it is
 * answered, what it means at the end of an attempt, the command that says it.  docs/programs.md is
 * checked against it.  The immediate effect of a word is in worker/run/program_report.c.
 *
 * A malformed line is an error with its cause and changes nothing.  Texts are returned as valid
 * UTF-8 of at most WORD_TEXT_MAX bytes, with `?` for each byte that is not part of a character.
 *
 * Pure.  Slices point into the line or into the arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

#define WORD_LINE_MAX ((size_t)1 << 20)
#define WORD_TEXT_MAX ((size_t)4096)
#define WORD_UNIT_MAX ((size_t)16)
#define WORD_CURSOR_MAX ((size_t)64 << 10)
#define WORD_NAME_MAX ((size_t)200)

enum word_kind {
    WORD_NONE, /* a blank line */
    WORD_RUN,
    WORD_PROGRESS,
    WORD_EMIT,
    WORD_EMIT_NOW, /* emit! */
    WORD_CURSOR,
    WORD_SET,
    WORD_STEP,
    WORD_RAISE,
    WORD_USE,
    WORD_GROUP,
    WORD_DONE,
    WORD_FAIL, /* err, fail */
    WORD_RESEND,
    WORD_BUSY,
    WORD_KIND_COUNT
};

struct word {
    enum word_kind kind;
    struct slice text; /* RUN PROGRESS DONE FAIL RESEND; may be empty */
    struct slice name; /* SET RAISE USE BUSY */
    struct slice json; /* SET EMIT EMIT_NOW CURSOR STEP GROUP: checked; most are objects */

    /* PROGRESS: counts, or the time left. */
    bool has_done;
    int64_t done;
    int64_t total; /* 0: unknown */
    struct slice unit;
    bool has_left;
    int64_t left_us;

    int64_t delay_us; /* RESEND BUSY */
    int64_t count;    /* RAISE USE */
};

enum word_reply { /* on file descriptor 4 */
                  WORD_REPLY_NONE,
                  WORD_REPLY_AT_ONCE,   /* `ok`, when the worker has accepted the line */
                  WORD_REPLY_COMMITTED, /* `ok`, when the server has committed it */
};

enum word_at_end {
    WORD_AT_END_NOTHING, /* its whole effect is immediate */
    WORD_AT_END_ALWAYS,  /* it is part of every finish */
    WORD_AT_END_IF_DONE, /* it is part of the finish of an attempt that is done, else discarded */
    WORD_AT_END_DECIDES, /* it says how the attempt ends; the first such word counts */
};

struct word_reading; /* a line while it is read; word_read.h */

struct word_spec {
    const char *name;
    const char *other_name; /* or NULL */
    enum word_kind kind;
    enum err_code (*read)(struct word_reading *r);
    enum word_reply reply;
    enum word_at_end at_end;
    const char *verb;    /* `waybill VERB` sends it inside a job; NULL: no command does */
    const char *syntax;  /* Markdown, between backquotes */
    const char *meaning; /* Markdown */
};

extern const struct word_spec words[];
extern const size_t n_words;

/* The row of a kind, which is not WORD_NONE. */
const struct word_spec *word_spec_of(enum word_kind kind);

/* The row of the word that a line begins with, NULL when it is unknown; *ret_rest: what follows. */
const struct word_spec *word_find(struct slice line, struct slice *ret_rest);

/* Reads a line, given without its newline.  E_INVALID: "unknown word 'emti', did you mean 'emit'?",
 * "resend: needs a number of seconds, …". */
MUST_CHECK enum err_code word_parse(struct slice line, struct arena *arena, struct word *ret_word,
                                    struct err *err);

/* A line of a resident program begins with the id of its job: removes it from the line. */
MUST_CHECK enum err_code word_take_id(struct slice *line, int64_t *ret_id, struct err *err);

/* Any bytes as text for people: valid UTF-8 without NUL, at most `max` bytes. */
struct slice word_text(struct slice bytes, size_t max, struct arena *arena);
