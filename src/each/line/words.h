/*
 * The words of a command for one job: as a shell would take them, and as JSON can carry them.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "each/line/command.h"

/* The command as it would be typed into a shell for this job.  E_INVALID: too few columns. */
MUST_CHECK enum err_code each_add_shell(const struct each_command *c, const struct each_item *item,
                                        struct buf *out, struct err *err);

/* The words as an array of JSON strings; what is not UTF-8 is shown as `?`.  E_INVALID: too few
 * columns. */
MUST_CHECK enum err_code each_add_words(const struct each_command *c, const struct each_item *item,
                                        struct buf *out, struct err *err);

/* The command of a job whose lines JSON cannot carry, as they are not UTF-8: an array that has the
 * words encoded, and a shell before them that decodes them and becomes the program.  E_INVALID: too
 * few columns. */
MUST_CHECK enum err_code each_add_encoded(const struct each_command *c,
                                          const struct each_item *item, struct buf *out,
                                          struct err *err);
