/*
 * The words of a command for one line: as a shell would take them, and as JSON can carry them.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "cli/each_command.h"

/* One word of a shell's command line, with quotes where they are needed. */
void each_add_quoted(struct buf *out, struct slice word);

/* The command as it would be typed into a shell for this line.  E_INVALID: too few columns. */
MUST_CHECK enum err_code each_add_shell(const struct each_command *c, struct slice line,
                                        struct buf *out, struct err *err);

/* The words as an array of JSON strings; what is not UTF-8 is shown as `?`.  E_INVALID: too few columns. */
MUST_CHECK enum err_code each_add_words(const struct each_command *c, struct slice line,
                                        struct buf *out, struct err *err);

/* The command of a line that JSON cannot carry, as it is not UTF-8: an array that has the words encoded, and
 * a shell before them that decodes them and becomes the program.  E_INVALID: too few columns. */
MUST_CHECK enum err_code each_add_encoded(const struct each_command *c, struct slice line,
                                          struct buf *out, struct err *err);
