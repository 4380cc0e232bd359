/*
 * Words: what a program says on file descriptor 3, one line each.
 *
 * The table `words` is the single source of their names, syntax and meaning; docs/programs.md follows it.
 * A line that is malformed is an error with its cause and changes nothing.  Texts come back as valid
 * UTF-8 of at most WORD_TEXT_MAX bytes, `?` in place of what is neither that nor a character.
 *
 * Pure.  Slices live in the line and in the arena.
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
    WORD_DONE,
    WORD_FAIL, /* err, fail */
    WORD_RESEND,
    WORD_KIND_COUNT
};

struct word {
    enum word_kind kind;
    struct slice text; /* RUN PROGRESS DONE FAIL RESEND; may be empty */
    struct slice name; /* SET RAISE */
    struct slice json; /* SET EMIT EMIT_NOW CURSOR STEP: checked; an object for emits and STEP */

    /* PROGRESS: counts or the time that is left, or both. */
    bool has_done;
    int64_t done;
    int64_t total; /* 0: unknown */
    struct slice unit;
    bool has_left;
    int64_t left_us;

    int64_t delay_us; /* RESEND */
    int64_t count;    /* RAISE */
};

struct word_spec {
    const char *name;
    enum word_kind kind;
    bool answered; /* on file descriptor 4 */
    bool ends;     /* it says how the attempt ends; the first such word wins */
    const char *syntax;
    const char *meaning; /* one sentence for people, Markdown */
};

extern const struct word_spec words[];
extern const size_t n_words;

/* The word that a line begins with, NULL when it is unknown; ret_rest is what follows it. */
const struct word_spec *word_find(struct slice line, struct slice *ret_rest);

/* A line without its end.  E_INVALID: "unknown word 'emti', did you mean 'emit'?",
 * "resend: needs a number of seconds, …". */
MUST_CHECK enum err_code word_parse(struct slice line, struct arena *arena, struct word *ret_word,
                                    struct err *err);

/* A resident program's line begins with the id of the job it speaks of: takes it off the line. */
MUST_CHECK enum err_code word_take_id(struct slice *line, int64_t *ret_id, struct err *err);

/* Any bytes as text for people: as valid UTF-8 without NUL, at most `max` bytes. */
struct slice word_text(struct slice bytes, size_t max, struct arena *arena);
