/*
 * Braces in a text with names: reads what begins at one.
 *
 * For src/core/program/template*.c alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/program/template.h"

enum template_brace {
    TEMPLATE_BRACE_PLAIN,   /* stays as it is */
    TEMPLATE_BRACE_ESCAPED, /* {{ */
    TEMPLATE_BRACE_NAME,    /* {name} or {name:-default} */
};

/* Whether a name, of a param or of a shell's variable, may have the character. */
bool template_is_name_char(char c);

/* What is at text[at], a `{`.  For a name, sets *ret_part, with texts in the arena that end in NUL,
 * and *ret_size, its length in the text.  E_INVALID: a default without an end. */
MUST_CHECK enum err_code template_brace_read(struct slice text, size_t at, struct arena *arena,
                                             enum template_brace *ret_kind,
                                             struct template_part *ret_part, size_t *ret_size,
                                             struct err *err);

/* Reads a string command: its script with positional parameters, and one argument for each of
 * those. */
MUST_CHECK enum err_code template_shell_parse(struct slice text, struct arena *arena,
                                              struct template_command *ret_command,
                                              struct err *err);
