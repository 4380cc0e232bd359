/*
 * The command of `each`, and what becomes of it for a line of input.
 *
 * `{}` is the whole line; with a column separator {1}, {2}, … are its columns.  A command without any of
 * them gets the line as its last argument.  All other braces are what they are.  Whatever is in a line,
 * each argument stays one argument: no shell sees it.
 *
 * The queue's command is a template over the job's params: `line`, and `c1`, `c2`, … for the columns that
 * the command names.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define EACH_COLUMNS_MAX 64

struct each_command {
    const char *const *words;
    size_t n_words;
    struct slice separator; /* of columns; empty: none */
    bool appends;           /* the line comes as last argument */
    uint64_t columns;       /* bit N-1: {N} is in the command */
};

/* Words and separator are borrowed.  E_INVALID: not UTF-8, or a column that nobody can have. */
MUST_CHECK enum err_code each_command_init(struct each_command *c, const char *const *words,
                                           size_t n_words, struct slice separator, struct err *err);

/* What was given as --colsep: \t, \n, \0 and \\ are understood, everything else is meant as it stands. */
MUST_CHECK enum err_code each_separator_parse(const char *text, struct buf *out, struct err *err);

/* The command as the queue's definition has it: an array of templates. */
void each_command_add_template(const struct each_command *c, struct buf *out);

/* The line's params, an object.  E_INVALID: it has too few columns, or one is not UTF-8.  The line itself
 * is UTF-8: for others see each_words.h. */
MUST_CHECK enum err_code each_command_add_params(const struct each_command *c, struct slice line,
                                                 struct buf *out, struct err *err);

/* Hands over the words that are run for this line, one by one.  E_INVALID: too few columns. */
typedef void each_word_fn(void *ctx, struct slice word);

MUST_CHECK enum err_code each_command_fill(const struct each_command *c, struct slice line,
                                           each_word_fn *take_word, void *ctx, struct err *err);

/* The lines say which program is to be run. */
bool each_command_names_program(const struct each_command *c);

/* The program as it stands, without placeholders: can it be started from here?  E_NOT_FOUND and
 * E_FORBIDDEN say why not. */
MUST_CHECK enum err_code each_command_check_program(const struct each_command *c, struct err *err);
