/*
 * Readers for the lines of words, one for each form.  The table in word.c names them.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/program/word.h"

struct word_reading {
    struct slice rest; /* of the line, behind the word */
    struct arena *arena;
    struct word *word; /* to be filled */
    struct err *err;
};

/* Each returns E_INVALID with a text that does not name the word. */
enum err_code word_read_text(struct word_reading *r);     /* TEXT, may be empty */
enum err_code word_read_progress(struct word_reading *r); /* N[/M][UNIT] [TEXT] or left D [TEXT] */
enum err_code word_read_job(struct word_reading *r);      /* a JSON object */
enum err_code word_read_cursor(struct word_reading *r);   /* any JSON */
enum err_code word_read_set(struct word_reading *r);      /* NAME JSON */
enum err_code word_read_step(struct word_reading *r);     /* a step as JSON */
enum err_code word_read_raise(struct word_reading *r);    /* NAME [N] */
enum err_code word_read_use(struct word_reading *r);      /* NAME N */
enum err_code word_read_resend(struct word_reading *r);   /* SECONDS[-WHY] */
enum err_code word_read_busy(struct word_reading *r);     /* NAME SECONDS [WHY] */

struct slice word_trim(struct slice s);

/* The text up to the next space; *rest becomes what follows it, trimmed. */
struct slice word_take(struct slice *rest);
