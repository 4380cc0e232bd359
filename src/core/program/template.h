/*
 * Templates: names in braces that a job's values fill.
 *
 * `{name}` is filled, `{name:-default}` too, with the default when nothing has the name; `{{` is
 * one brace.  A plain name has letters, digits, `_` and `-`, and does not begin with `-`.
 * Braces around anything else, and `${…}`, stay as they are.  `{id} {queue} {attempt} {now} {day}`
 * are always defined and describe the job itself, whatever its params are called.  Strings are
 * filled in as they are, all other values as JSON text.
 *
 * In a command given as a list, names are in the arguments, and a value never becomes more than one
 * argument.  A command given as a text is run by `sh -c`: each name becomes a quoted positional
 * parameter, so that the shell reads every value as a value only.  What cannot work
 * is refused when the command is read: a name in single quotes, in a quoted here-document, in a
 * function of the script, in what a shell among the words of a list would run, and wherever a shell
 * evaluates a value again (template_words.h).
 *
 * Pure.  Everything that is read from a text is copied into the arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define TEMPLATE_ARG_MAX ((size_t)131071) /* bytes of one argument: the kernel's limit */
#define TEMPLATE_NAMES_MAX 1000           /* in one command */

struct template_part {
    struct slice text;     /* literal text, or a name */
    struct slice fallback; /* of a name: used when no object has it */
    bool named;
    bool has_fallback;
};

/* One text with names in it. */
struct template_text {
    struct template_part *parts;
    size_t n_parts;
};

struct template_command {
    bool shell;
    struct slice script; /* shell: names are positional parameters in it */
    /* Of the program, its name first; shell: what follows sh -c SCRIPT sh. */
    struct template_text *args;
    size_t n_args;
    struct slice *needs; /* names that the job must have, each once */
    size_t n_needs;
};

/* What fills the names. */
struct template_values {
    const struct slice *objects; /* checked JSON objects: the first that has a name fills it */
    size_t n_objects;
    struct slice id;
    struct slice queue;
    int attempt;
    int64_t now_at; /* {now}: its second, RFC 3339 in UTC; {day}: its date */
};

/* Adds the text as a template that fills in to exactly that text, whatever braces it has. */
void template_add_literal(struct slice text, struct buf *out);

/* E_INVALID: what is wrong, with the name and its place ("at byte 12"). */
MUST_CHECK enum err_code template_text_parse(struct slice text, struct arena *arena,
                                             struct template_text *ret_text, struct err *err);

/* E_INVALID: a name without a value. */
MUST_CHECK enum err_code template_text_fill(const struct template_text *t,
                                            const struct template_values *values, struct buf *out,
                                            struct err *err);

enum template_place {
    TEMPLATE_PLACE_OTHER,
    TEMPLATE_PLACE_CODE,   /* a shell would run a value as a part of its script */
    TEMPLATE_PLACE_REMOTE, /* code for a shell on the other side of ssh */
};

struct template_fault {
    const char *at; /* the string in the command that is to blame */
    size_t arg;     /* its place in a list, from 0 */
    /* What a misplaced name is in, and what to do; NULL: something else is wrong. */
    const char *where;
    enum template_place place;
};

/* `command` is checked JSON: a string or an array of strings, not empty.  *fault is written on
 * failure, unless it is NULL. */
MUST_CHECK enum err_code template_command_parse(struct slice command, struct arena *arena,
                                                struct template_command *ret_command,
                                                struct template_fault *fault, struct err *err);

/* Checks for a new job that these objects have every value the command needs, each small enough for
 * an argument.  E_INVALID names the param.  Costs nothing when the command needs none. */
MUST_CHECK enum err_code template_command_check(const struct template_command *c,
                                                const struct slice *objects, size_t n_objects,
                                                struct err *err);

/* *ret_argv ends in NULL; all of it lives in the arena.  E_INVALID: a name without a value, a
 * value that is too large for an argument or has a NUL byte in it. */
MUST_CHECK enum err_code template_command_fill(const struct template_command *c,
                                               const struct template_values *values,
                                               struct arena *arena, char ***ret_argv,
                                               struct err *err);

/* The first name in it other than `allowed` (NULL: none is); empty when there is none.  For
 * commands that run without a job. */
struct slice template_command_name(const struct template_command *c, const char *allowed);
