/*
 * The command of `each`, and what becomes of it for the lines of one job.
 *
 * `{}` is the line; `{.}`, `{/}`, `{//}`, `{/.}` are parts of it as a path, `{#}` is the number of
 * the job; with a column separator {1}, {2}, … are its columns, without one {1} is the line.  A
 * command without any of them but `{#}` gets the line as its last argument.  All other braces stay
 * unchanged, and `${…}` belongs to the shell.  Whatever is in a line, each argument stays one
 * argument: no shell sees it.
 *
 * With several lines a job, {1}, {2}, … are the lines, and a word that is a placeholder of a line
 * and nothing else becomes as many words as there are lines.
 *
 * The queue's command is a template over the job's params: `line`, and one param for each
 * placeholder that the command has.
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
#define EACH_LINES_MAX 1000 /* of one job */

/* The meaning of a placeholder. */
enum each_part {
    EACH_LINE,      /* {} */
    EACH_NO_SUFFIX, /* {.} */
    EACH_BASE,      /* {/} */
    EACH_DIR,       /* {//} */
    EACH_STEM,      /* {/.} */
    EACH_NUMBER,    /* {#} */
    EACH_COLUMN,    /* {1} … {64}: a column, or a line of several */
    EACH_PART_COUNT
};

struct each_command {
    const char *const *words;
    size_t n_words;
    struct slice separator; /* of columns; empty: none */
    size_t lines;           /* of a job; the last one may have fewer */
    bool appends;           /* the line comes as last argument */
    uint64_t columns;       /* bit N-1: column {N} is in the command */
    unsigned parts;         /* bit of each part that is in the command, or appended */
};

/* What people call a job: "line", or "command" where it has several lines. */
static inline const char *each_item_word(const struct each_command *c)
{
    return c->lines > 1 ? "command" : "line";
}

/* How lines become jobs. */
struct each_cut {
    struct slice separator; /* of columns; empty: none */
    size_t lines;           /* of a job */
};

/* The lines of one job. */
struct each_item {
    const struct slice *lines;
    size_t n_lines;
    int64_t number; /* of the job, from 1 */
};

/* Words and separator are borrowed.  E_INVALID: not UTF-8, a column that nobody can have, a
 * placeholder that several lines cannot fill. */
MUST_CHECK enum err_code each_command_init(struct each_command *c, const char *const *words,
                                           size_t n_words, const struct each_cut *cut,
                                           struct err *err);

/* The first replacement string of GNU parallel in it that is none here, such as {1.} or {%}: it
 * stays as it is.  Empty: there is none. */
struct slice each_command_foreign(const struct each_command *c);

/* What was given as --colsep: \t, \n, \0 and \\ are understood, everything else is literal. */
MUST_CHECK enum err_code each_separator_parse(const char *text, struct buf *out, struct err *err);

/* The command for jobs of `n_lines` lines: an array of templates. */
void each_command_add_template(const struct each_command *c, size_t n_lines, struct buf *out);

/* The job's params, an object.  E_INVALID: too few columns, or one is not UTF-8.  The lines
 * themselves are UTF-8: for others see words.h. */
MUST_CHECK enum err_code each_command_add_params(const struct each_command *c,
                                                 const struct each_item *item, struct buf *out,
                                                 struct err *err);

/* Calls take_word with each word that is run for this job.  E_INVALID: too few columns. */
typedef void each_word_fn(void *ctx, struct slice word);

MUST_CHECK enum err_code each_command_fill(const struct each_command *c,
                                           const struct each_item *item, each_word_fn *take_word,
                                           void *ctx, struct err *err);

/* The part of a line as a path, as GNU parallel has it: {.} {/} {//} {/.}. */
struct slice each_path_part(enum each_part part, struct slice line);

/* The lines say which program is to be run. */
bool each_command_names_program(const struct each_command *c);

/* Checks that the program, if it has no placeholders, can be started.  E_NOT_FOUND and
 * E_FORBIDDEN say why not. */
MUST_CHECK enum err_code each_command_check_program(const struct each_command *c, struct err *err);
